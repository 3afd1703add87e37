"""torch.distributed's all_reduce on Gloo between local ranks: the median time.

Usage (under torchrun): all_reduce.py MIB REPEATS
"""

import json
import os
import statistics
import sys
import time

import torch

mib, repeats = int(sys.argv[1]), int(sys.argv[2])
torch.distributed.init_process_group("gloo")
tensor = torch.zeros(mib << 18)
times = []
for _ in range(repeats):
    torch.distributed.barrier()
    start = time.perf_counter()
    torch.distributed.all_reduce(tensor)
    times.append(time.perf_counter() - start)
torch.distributed.destroy_process_group()
if os.environ["RANK"] == "0":
    print(json.dumps({"ms": 1e3 * statistics.median(times)}))
