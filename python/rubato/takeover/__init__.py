"""Makes an unmodified single-device PyTorch script elastic.

The launcher puts the folder `site` first in PYTHONPATH; its `sitecustomize` waits for `import
torch` and then replaces a few functions of it (`patches`). Which loader and which optimizer train
is seen from what the script does (`job`); what cannot be made elastic is refused (`checks`).

    hook        when torch has been loaded
    patches     which functions of torch are replaced
    job         what becomes of the script's loop
    checks      what is refused
    variables   how the script's own variables reach newcomers
"""
