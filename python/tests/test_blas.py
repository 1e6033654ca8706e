"""Slow matrix products are told of, once per job and soon."""

import contextlib
import io
import unittest
from unittest import mock

import scene
from test_elastic import TRAINER

WARNING = "WARNING: matrix products"
SLOW = "import rubato.blas; rubato.blas.matrix_gigaflops = lambda *_: 1.0; "


class SlowClock:
    """Passes only while matrices are multiplied, as fast as the reference BLAS does that."""

    def __init__(self, gigaflops):
        from rubato import blas

        self.now = 0.0
        self.round = 2 * blas.SIDE**3 / gigaflops / 1e9

    def __call__(self):
        return self.now

    def multiply(self):
        self.now += self.round


class SpeedTest(unittest.TestCase):
    def test_a_slow_blas_is_measured_in_little_time(self):
        from rubato import blas

        clock = SlowClock(gigaflops=3)
        speed = blas.matrix_gigaflops(clock.multiply, clock)

        self.assertAlmostEqual(speed, 3)
        self.assertLess(clock.now, 0.05)

    def test_a_real_product_has_a_speed(self):
        from rubato import blas

        self.assertGreater(blas.matrix_gigaflops(blas.product()), 0.01)

    def test_only_slow_products_are_told_of(self):
        from rubato import blas

        for speed, is_slow in ((3.0, True), (1000.0, False)):
            words = io.StringIO()
            with mock.patch.object(blas, "matrix_gigaflops", lambda *_: speed), \
                    contextlib.redirect_stderr(words):
                blas.warn_if_slow()
            self.assertEqual(WARNING in words.getvalue(), is_slow)


class JobTest(scene.ScriptCase):
    def warnings_of_a_job(self, **environment):
        script = self.write(TRAINER.replace("import os", SLOW + "import os"))
        _, words = self.train(script, 1, self.folder, flags=["--workers", "2", "--all-output"],
                              **environment)
        return words.count(WARNING)

    def test_a_job_says_it_once(self):
        self.assertEqual(self.warnings_of_a_job(), 1)


if __name__ == "__main__":
    unittest.main()
