# SPDX-License-Identifier: Apache-2.0
# Trains the networks of the examples with PyTorch on the data that main.go draws.
#
#   python3 train.py NAME DATA MODEL
#
# MODEL.onnx is written, or, for those that stand for networks of Keras, MODEL.npz with weights.
import csv
import glob
import os
import sys
import wave

import numpy
import torch
from torch import nn


def rows(path):
    with open(path) as f:
        return list(csv.DictReader(f))


def table(data, columns, window=1, hop=1):
    """Windows of rows that have one label, as nncc cuts them."""
    r = rows(f"{data}/train.csv")
    names = sorted({x["label"] for x in r})
    x, y, at = [], [], 0
    while at + window <= len(r):
        if len({v["label"] for v in r[at:at + window]}) == 1:
            x.append([[float(v[c]) for c in columns] for v in r[at:at + window]])
            y.append(names.index(r[at]["label"]))
        at += hop
    return torch.tensor(x), torch.tensor(y)


def files(data, kind, read):
    x, y = [], []
    for label, folder in enumerate(sorted(glob.glob(f"{data}/train/*"))):
        for path in sorted(glob.glob(f"{folder}/*.{kind}")):
            x.append(read(path))
            y.append(label)
    return torch.tensor(numpy.array(x, dtype=numpy.float32)), torch.tensor(y)


def sound(path):
    with wave.open(path) as w:
        return numpy.frombuffer(w.readframes(w.getnframes()), dtype="<i2")[None] / 32768


def picture(path):
    from PIL import Image

    a = numpy.asarray(Image.open(path).convert("RGB" if "picture" in sys.argv[1] else "L")) / 255
    return a.transpose(2, 0, 1) if a.ndim == 3 else a[None]


def fit(model, x, y, loss, epochs=60, rate=4e-3):
    best = torch.optim.Adam(model.parameters(), rate)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(best, epochs)
    for _ in range(epochs):
        for at in torch.randperm(len(x)).split(32):
            best.zero_grad()
            loss(model(x[at]), y[at]).backward()
            best.step()
        plan.step()
    return model.eval()


class Pooled(nn.Module):
    """Convolutions, their mean, a dense layer."""

    def __init__(self, convolutions, classes):
        super().__init__()
        self.convolutions, self.dense = convolutions, nn.LazyLinear(classes)

    def forward(self, x):
        return self.dense(self.convolutions(x).flatten(2).mean(2))


def convolutions(kind, *layers):
    list = []
    for i, o, k, s in layers:
        flat = kind is nn.Conv1d
        list += [kind(i, o, k, s, 0 if flat else k // 2)] + [nn.BatchNorm2d(o)] * (not flat) + [nn.ReLU()]
    return nn.Sequential(*list)


def gesture(data):
    x, y = table(data, ["ax", "ay", "az"], 50, 25)
    model = Pooled(convolutions(nn.Conv1d, (3, 12, 5, 2), (12, 24, 3, 2)), 4)
    return fit(model, x.transpose(1, 2), y, nn.functional.cross_entropy), (1, 3, 50)


def picture_(data):
    x, y = files(data, "png", picture)
    model = Pooled(convolutions(nn.Conv2d, (3, 8, 3, 1), (8, 12, 3, 2), (12, 16, 3, 2), (16, 24, 3, 2)), 3)
    return fit(model, x, y, nn.functional.cross_entropy, 40), (1, 3, 32, 32)


def keyword(data):
    x, y = files(data, "wav", sound)
    return fit(Pooled(convolutions(nn.Conv1d, (1, 12, 40, 20), (12, 16, 5, 2)), 3), x, y,
               nn.functional.cross_entropy), None


class Scaled(nn.Module):
    """A network on numbers in units of their own."""

    def __init__(self, x, classes):
        super().__init__()
        self.mean, self.scale = nn.Parameter(x.mean(0), False), nn.Parameter(1 / x.std(0), False)
        self.first, self.last = nn.Linear(x.shape[1], 16), nn.Linear(16, classes)

    def forward(self, x):
        return self.last(torch.relu(self.first((x - self.mean) * self.scale)))


def sensor(data):
    x, y = table(data, ["celsius", "pascal", "rpm", "g", "ampere"])
    x = x[:, 0]
    return fit(Scaled(x, 4), x, y, nn.functional.cross_entropy), None


class Novelty(nn.Module):
    """How badly a narrow network repeats the loudness of bands, beside the worst of the training: above 0 is new."""

    def __init__(self, bands):
        super().__init__()
        self.bands = nn.Conv1d(1, bands, 64, 16, bias=False)
        t, hz = torch.arange(64.), torch.linspace(100, 3800, bands)[:, None]
        self.bands.weight.data = (torch.hann_window(64) * torch.cos(2 * torch.pi * hz * t / 8000) / 16)[:, None]
        self.bands.weight.requires_grad = False
        self.narrow, self.wide = nn.Linear(bands, 4), nn.Linear(4, bands)
        self.worst = nn.Parameter(torch.ones(1), False)

    def error(self, x):
        loud = 8 * self.bands(x).abs().mean(2)
        return (self.wide(torch.relu(self.narrow(loud))) - loud).abs().mean(1, keepdim=True)

    def forward(self, x):
        return self.error(x) / self.worst - 1


def machine(data):
    x, y = files(data, "wav", sound)
    model = Novelty(16)
    fit(model, x, y, lambda score, _: (score + 1).mean(), 200)
    model.worst.data = 1.5 * model.error(x).max().detach()[None]
    return model, (1, 1, 2000)


def detector(data):
    x = torch.tensor(numpy.array([picture(p) for p in sorted(glob.glob(f"{data}/train/*.png"))], dtype=numpy.float32))
    y = torch.zeros(len(x), 7, 12, 12)
    for at, path in enumerate(sorted(glob.glob(f"{data}/train-boxes/*.txt"))):
        for c, cx, cy, w, h in (map(float, line.split()) for line in open(path)):
            i, k = int(cx * 12), int(cy * 12)
            y[at, :5, k, i] = torch.tensor([cx * 12 - i, cy * 12 - k, numpy.log(w * 12), numpy.log(h * 12), 1])
            y[at, 5 + int(c), k, i] = 1
    model = nn.Sequential(*convolutions(nn.Conv2d, (1, 8, 3, 2), (8, 16, 3, 2), (16, 16, 3, 1), (16, 16, 3, 1),
                                        (16, 24, 3, 1)), nn.Conv2d(24, 7, 1))

    def loss(p, y):
        there, both = y[:, 4:5], nn.functional.binary_cross_entropy_with_logits
        return both(p[:, 4:5], there, pos_weight=torch.tensor(4.)) + 20 * (
            there * ((p[:, :4] - y[:, :4]).abs().sum(1, keepdim=True) +
                     both(p[:, 5:], y[:, 5:], reduction="none").sum(1, keepdim=True))).mean()

    return fit(model, x, y, loss, 60), (1, 1, 48, 48)


def main():
    torch.manual_seed(1)
    name, data, path = sys.argv[1:]
    model, shape = {"gesture": gesture, "picture": picture_, "keyword": keyword, "sensor": sensor, "machine": machine,
                    "detector": detector}[name](data)
    if shape is None:
        numpy.savez(path + ".npz", **{str(i): p.detach().numpy() for i, p in enumerate(model.parameters())})
        return
    how = {"dynamo": False} if torch.__version__ >= "2.5" else {}
    torch.onnx.export(model, (torch.zeros(shape),), path + ".onnx", input_names=["input"], opset_version=17, **how)


main()
