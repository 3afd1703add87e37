#!/usr/bin/env python3
"""Writes input_channels.json: what timm's adapt_input_conv makes of convolutions' weights.

    python tests/golden/nn/adaptation/make_input_channels.py        # torch, timm
"""

import json
import pathlib

import torch
from timm.models._manipulate import adapt_input_conv


def main():
    torch.manual_seed(5)
    stems = {"colours": torch.randn(2, 3, 2, 2), "patches": torch.randn(2, 12, 2, 2)}
    cases = [("colours", channels, channels) for channels in (1, 2, 4, 6, 8)] + [("patches", 1, 4)]
    golden = []
    for stem, channels, inputs in cases:
        for dtype in (torch.float32, torch.float16):
            stored = stems[stem].to(dtype)
            adapted = adapt_input_conv(channels, stored)
            assert adapted.shape[1] == inputs and adapted.dtype == dtype
            golden.append({"half": dtype == torch.float16, "stored_channels": stored.shape[1], "channels": inputs,
                           "stored": stored.flatten().tolist(), "adapted": adapted.flatten().tolist()})
    path = pathlib.Path(__file__).parent / "input_channels.json"
    path.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
