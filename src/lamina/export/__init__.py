"""Networks that leave the house: ONNX files, programs of torch, safetensors files and folders for the Hub."""

from lamina.export.card import push as push
from lamina.export.save import Saved as Saved
from lamina.export.save import save as save
