# SPDX-License-Identifier: Apache-2.0
# A network of PyTorch becomes firmware, is run on an emulated board, and judged by its own labels.
import nncc
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 16, 3, stride=2)
        self.last = torch.nn.Linear(16, 4)

    def forward(self, image):
        x = torch.relu(self.second(torch.relu(self.first(image))))
        return self.last(x.mean((2, 3)))


torch.manual_seed(0)
model, x = Net(), torch.randn(40, 1, 12, 12)
report = nncc.compile(model, x, board="cortex-m4", out="fw")
print(report["verdict"]["text"], "input", report["inputs"][0]["name"])
verdict = nncc.verify(model, x, board="cortex-m4", cases=2)
print("mismatches", verdict["mismatches"], "instructions", verdict["instructions"])
labels = model(x).argmax(1)
agreement = nncc.evaluate(model, x, board="cortex-m4", data=x, labels=labels)["agreement"]
print("right in more than nine of ten" if agreement > 0.9 else f"agreement {agreement}")
