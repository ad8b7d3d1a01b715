from fnmatch import fnmatch

import lightning as L


class ActivationNorms(L.Callback):
    def __init__(self, layers="*"):
        self.layers, self.handles = layers, []

    def setup(self, trainer, module, stage):
        def put(name):
            return lambda _, __, output: module.log(f"norm/{name}", output.detach().norm())

        for name, layer in module.model.named_modules():
            if name and fnmatch(name, self.layers):
                self.handles.append(layer.register_forward_hook(put(name)))

    def teardown(self, trainer, module, stage):
        for handle in self.handles:
            handle.remove()
