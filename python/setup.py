"""Builds the package `rubato` with CMake: `pip install ./python`, or `python3 setup.py build_ext`.

Needs what building Rubato needs, but no network: with pip, add `--no-build-isolation`.
"""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent


class CMakeBuild(build_ext):
    """Has CMake build the module for the interpreter that runs this."""

    def build_extension(self, extension):
        built = Path(self.build_temp).resolve() / "cmake"
        source = str(ROOT)
        options = [
            "-GNinja", "-DCMAKE_BUILD_TYPE=Release", "-DRUBATO_TESTS=OFF",
            f"-DRUBATO_PYTHON={sys.executable}",
        ]
        subprocess.run(["cmake", "-S", source, "-B", str(built), *options], check=True)
        subprocess.run(["cmake", "--build", str(built), "--target", "rubato_core_module"],
                       check=True)
        target = Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        found = next((built / "python" / "rubato").glob("_core.*.so"))
        self.copy_file(str(found), str(target))


os.chdir(Path(__file__).resolve().parent)
setup(
    name="rubato",
    version="0.1.0",
    description="Elastic training with PyTorch",
    python_requires=">=3.8",
    packages=find_packages(include=["rubato", "rubato.*"]),
    package_data={"rubato.startup": ["site/sitecustomize.py"]},
    ext_modules=[Extension("rubato._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
