"""Asks PyTorch's DeviceMesh sequences of questions, in which what one question flattens another may name.

usage: mesh_sequence_oracle.py OUT.json [SEED [SEQUENCES]]
A sequence is a mesh and a list of Python expressions over `mesh` and `DeviceMesh`, drawn at random with many dims of
size 1, evaluated one after the other on the same mesh; its first and its last rank are asked. Needs PyTorch 2.15;
no accelerator and no other process (the fake process group).
"""
import itertools, json, logging, random, sys, warnings
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh, DeviceMesh
from torch.testing._internal.distributed.fake_pg import FakeStore
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)


def describe(m):
    d = {"mesh": m.mesh.tolist(), "shape": list(m.shape), "names": list(m.mesh_dim_names or ()),
         "coordinate": list(m.get_coordinate()), "repr": repr(m)}
    d["groups"] = [dist.get_process_group_ranks(g) for g in m.get_all_groups()]
    d["local_rank"] = [m.get_local_rank(i) for i in range(m.ndim)]
    return d


def attempt(text, mesh):
    try: return describe(eval(text, {"mesh": mesh, "DeviceMesh": DeviceMesh}))
    except Exception as e: return {"error": type(e).__name__, "message": str(e).split("\n")[0][:300]}


def ask(case, rank):
    world = 1
    for size in case["shape"]: world *= size
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        mesh = init_device_mesh("cpu", tuple(case["shape"]), mesh_dim_names=tuple(case["names"]))
        return [attempt(text, mesh) for text in case["asked"]]
    finally:
        dist.destroy_process_group()


def quoted(names): return ", ".join(f'"{n}"' for n in names)


def tuple_text(items): return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


class Writer:
    """Draws questions; keeps the names that flattening may have given, so that later questions use them."""
    def __init__(self, draw):
        self.draw = draw
        ndim = draw.randint(2, 5)
        self.names = list("abcde"[:ndim])
        while True:
            self.shape = [draw.choice([1, 1, 2, 2, 3]) for _ in self.names]
            if torch.tensor(self.shape).prod() <= 24: break
        self.flat = []

    def some(self, known):
        names = [n for n in known if self.draw.random() < 0.6] or [self.draw.choice(known or self.names)]
        if self.draw.random() < 0.15: self.draw.shuffle(names)
        return names

    def slice(self):
        known = list(self.names)
        for flat, parts in self.flat:  # a flattened dim in the place of its first part
            if self.draw.random() < 0.7:
                known = [n for n in known if n not in parts[1:]]
                if parts[0] in known: known[known.index(parts[0])] = flat
                elif self.draw.random() < 0.5: known.append(flat)
        return self.some(known)

    def flatten(self):
        dims = self.slice()
        if len(dims) == 1 and self.draw.random() < 0.7: dims = self.slice()
        name = self.draw.choice(["", "", "x", "y", self.draw.choice(self.names)])
        self.flat.append((name or "_".join(dims), dims))
        return f'mesh[{quoted(dims)}]._flatten({quoted([name]) if name else ""})'

    def unflatten(self, of, dim):
        size = self.draw.choice([1, 2, 3, 4])
        sizes = self.draw.choice([[1, size], [size, 1], [2, 2], [size], [1, 1]])
        return f'{of}._unflatten({dim}, {tuple_text([str(s) for s in sizes])}, {tuple_text([quoted([n]) for n in ["u", "v"][:len(sizes)]])})'

    def question(self):
        kind = self.draw.choice(["slice", "slice", "slice", "flatten", "flatten", "of slice", "of flatten", "unflatten",
                                 "of unflatten", "concatenate", "concatenate", "root"])
        if kind == "slice": return f"mesh[{quoted(self.slice())}]"
        if kind == "flatten": return self.flatten()
        if kind == "of slice":
            dims = self.slice()
            return f"mesh[{quoted(dims)}][{quoted(self.some(dims + self.names[:1]))}]"
        if kind == "of flatten":
            flat = self.flatten()
            name = self.flat[-1][0]
            return f"{flat}[{quoted([name])}]" if self.draw.random() < 0.5 else self.unflatten(flat, self.draw.choice(["0", quoted([name])]))
        if kind == "unflatten":
            return self.unflatten("mesh", self.draw.choice([quoted([self.draw.choice(self.names)]), str(self.draw.randrange(len(self.names)))]))
        if kind == "of unflatten":
            made = self.unflatten("mesh", quoted([self.draw.choice(self.names)]))
            return f'{made}[{quoted(self.some(self.names + ["u", "v"]))}]' + self.draw.choice(["", "._flatten()", '._flatten("z")'])
        if kind == "root": return self.draw.choice(["mesh", "mesh[()]", "mesh._flatten()", f"mesh[{quoted(self.names)}]._flatten()", 'mesh[()]._flatten("o")'])
        parts = [f"mesh[{quoted(self.slice())}]" for _ in range(self.draw.randint(1, 3))]
        if self.draw.random() < 0.2: parts[0] += "._flatten()"
        text = f'DeviceMesh._concatenate([{", ".join(parts)}])'
        return text + self.draw.choice(["", "", "._flatten()", f'[{quoted(self.slice())}]'])


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    draw, cases = random.Random(seed), []
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 60):
        w = Writer(draw)
        case = {"shape": w.shape, "names": w.names, "asked": [w.question() for _ in range(6)]}
        world = int(torch.tensor(w.shape).prod())
        case["ranks"] = sorted({0, world - 1})
        case["answers"] = [ask(case, rank) for rank in case["ranks"]]
        cases.append(case)
    with open(sys.argv[1], "w") as out:
        json.dump({"made_by": f"PyTorch {torch.__version__} DeviceMesh (fake process group)", "cases": cases}, out, separators=(",", ":"))


main()
