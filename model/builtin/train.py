#!/usr/bin/env python3
"""Trains the built-in language model: BPE tokenizer, small Llama, bf16 safetensors.

  python train.py --out OUT TEXT [TEXT ...]

The model's shape is in config.json beside this file. OUT gets the learned files:
tokenizer.json, model.safetensors, and the reference answers golden.json. A TEXT is a plain
text file, or the path prefix of an R lazy-load data set (PREFIX.rdx and PREFIX.rdb, as
Debian's r-cran-janeaustenr ships it; that needs the package rdata).
See recipe.md for the data, the numbers and the versions.
"""
import argparse
import bisect
import copy
import functools
import json
import os
import random
import re
import time
import zlib

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

CONFIG = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "config.json")))
VOCAB, DIM, FFN = CONFIG["vocab_size"], CONFIG["hidden_size"], CONFIG["intermediate_size"]
LAYERS, HEADS = CONFIG["num_hidden_layers"], CONFIG["num_attention_heads"]
KV_HEADS, HEAD_DIM = CONFIG["num_key_value_heads"], DIM // HEADS
EPS = CONFIG["rms_norm_eps"]
# Trained with one base of the rotary angles, used with a larger one: that keeps the loss
# flat up to twice the trained length.
TRAIN_THETA, USE_THETA = 10000.0, CONFIG["rope_theta"]
BOS, EOS, NEWLINE = 1, 2, 3 + 10
WORKERS, SEED, BATCH_TOKENS = 2, 1812, 4096
# Share of the steps done -> sequence length from there on.
LENGTHS = [(0.0, 128), (0.40, 256), (0.65, 512), (0.86, 1024)]
MUON_LR, ADAM_LR, WEIGHT_DECAY, EMA_DECAY, CHECK = 0.02, 4e-3, 0.1, 0.99, 50
PROMPTS = [
    "The soldiers were standing round the fire. One of them",
    '"My dear count," said the old princess, "you know very well that',
    '"What is your opinion of the war?" asked Pierre.\nPrince Andrew did not answer at once.',
]


def read_books(path):
    """Returns [(name, lines)] of a text file or an R data set."""
    if os.path.isfile(path):
        return [(os.path.basename(path), open(path, encoding="utf-8").read().splitlines())]
    import rdata
    index = rdata.conversion.convert(rdata.parser.parse_file(path + ".rdx"))["variables"]
    blob, books = open(path + ".rdb", "rb").read(), []
    for name, (start, size) in sorted(index.items()):
        raw = zlib.decompress(blob[start + 4:start + size])
        lines = rdata.conversion.convert(rdata.parser.parse_data(raw))
        books.append((str(name), [str(line) for line in lines]))
    return books


def chapters_of(lines):
    """Splits a book at its chapter headings; a chapter is a list of one-line paragraphs."""
    chapters, paragraph = [], []

    def close():
        text = re.sub(r"\s+", " ", " ".join(paragraph).replace("_", "")).strip()
        paragraph.clear()
        if text and chapters and not re.fullmatch(r"[\W\d]+", text):
            chapters[-1].append(text)

    for line in lines + [""]:
        line = line.strip()
        if re.match(r"\*\*\* ?END OF", line):
            break
        if re.fullmatch(r"chapter [ivxlc\d]+\.?", line, re.I):
            close()
            chapters.append([])
        elif re.match(r"(VOLUME|BOOK|FIRST EPILOGUE|SECOND EPILOGUE|END OF|THE END|FINIS)\b",
                      line, re.I if len(line) < 12 else 0) and len(line) < 40 or not line:
            close()
        else:
            paragraph.append(line)
    return [c for c in chapters if c]


def build_tokenizer(paragraphs):
    """SentencePiece-style BPE with byte fallback: ids 0-2 special, 3-258 the bytes."""
    special = ["<unk>", "<s>", "</s>"]
    byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=special + byte_tokens,
                                  show_progress=False)
    # Only for training: merges stay inside a word (with the space before it) or inside a
    # run of punctuation. So the shipped tokenizer needs no pre-tokenizer.
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Split(
        Regex(r"▁?[A-Za-z]+|'[a-z]+|▁?[^▁A-Za-z]+|▁"), "isolated")
    learner.train_from_iterator(
        (re.sub(r"[^ -~]", " ", p).replace(" ", "▁") for p in paragraphs), trainer)
    learned = json.loads(learner.to_str())["model"]
    merges = [tuple(m) for m in learned["merges"]]
    full = Tokenizer(models.BPE(learned["vocab"], merges, unk_token="<unk>", fuse_unk=True,
                                byte_fallback=True))
    full.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in special])
    full.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    full.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", BOS)])
    full.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                      decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    described = json.loads(full.to_str())
    described["model"]["merges"] = [" ".join(m) for m in merges]    # the older, shorter form
    return full, described


def encode_chapters(tokenizer, chapters):
    """One id stream: <s> chapter </s> <s> chapter </s> ...

    Also returns where each paragraph ends in the stream and its ids as the start of a text:
    there the normalizer puts a space before the first word, inside a text it does not.
    """
    stream, ends, heads = [], [], []
    mark = tokenizer.encode("\n").ids          # <s>, the space mark, the newline byte
    for chapter in chapters:
        for i, paragraph in enumerate(chapter):
            head = tokenizer.encode(paragraph).ids
            inner = tokenizer.encode("\n" + paragraph).ids[len(mark):]
            stream += head if i == 0 else [NEWLINE] + inner
            ends.append(len(stream))
            heads.append(head)
        stream.append(EOS)
    return stream, ends, heads


class Sampler:
    """Walks the stream in shuffled pieces; half of them start at <s> and a paragraph."""

    def __init__(self, data, seed):
        self.stream, self.ends, self.heads = data
        self.random, self.queue, self.length = random.Random(seed), [], 0

    def piece(self, length):
        if self.length != length or not self.queue:
            self.length = length
            self.queue = list(range(self.random.randrange(length),
                                    len(self.stream) - length - 1, length))
            self.random.shuffle(self.queue)
        at = self.queue.pop()
        if self.random.random() < 0.5:
            k = bisect.bisect_left(self.ends, at)
            ids = self.heads[k] + self.stream[self.ends[k]:self.ends[k] + length]
            if len(ids) > length:
                return ids[:length + 1]
        return self.stream[at:at + length + 1]


linear = functools.partial(nn.Linear, bias=False)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.o_proj = linear(DIM, DIM), linear(DIM, DIM)
        self.k_proj, self.v_proj = (linear(DIM, KV_HEADS * HEAD_DIM) for _ in "kv")

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = (project(x).view(b, t, -1, HEAD_DIM).transpose(1, 2)
                   for project in (self.q_proj, self.k_proj, self.v_proj))

        def rotate(y):
            a, c = y.chunk(2, dim=-1)
            return y * cos + torch.cat((-c, a), dim=-1) * sin

        k, v = (y.repeat_interleave(HEADS // KV_HEADS, 1) for y in (rotate(k), v))
        y = F.scaled_dot_product_attention(rotate(q), k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, DIM))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (
            linear(*size) for size in ((DIM, FFN), (DIM, FFN), (FFN, DIM)))

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.self_attn = nn.RMSNorm(DIM, EPS), Attention()
        self.post_attention_layernorm, self.mlp = nn.RMSNorm(DIM, EPS), MLP()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, theta):
        super().__init__()
        self.theta = theta
        self.embed_tokens = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(DIM, EPS)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(p, std=0.02 / (2 * LAYERS) ** 0.5 if deep else 0.02)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        freq = self.theta ** (-torch.arange(0, HEAD_DIM, 2, dtype=x.dtype) / HEAD_DIM)
        angle = torch.outer(torch.arange(ids.shape[1], dtype=x.dtype), freq).repeat(1, 2)
        cos, sin = angle.cos(), angle.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return F.linear(self.norm(x), self.embed_tokens.weight)


def orthogonal(g):
    """Newton-Schulz iteration (Muon): the nearest semi-orthogonal matrix, roughly."""
    x = (g.T if g.shape[0] > g.shape[1] else g) / (g.norm() + 1e-7)
    for _ in range(5):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(params, momenta, lr, rank):
    """Each worker orthogonalises half of the matrices; the sum spreads the results."""
    updates = []
    for i, (p, m) in enumerate(zip(params, momenta)):
        m.lerp_(p.grad, 0.05)
        if i % WORKERS == rank:
            scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
            updates.append((orthogonal(torch.lerp(p.grad, m, 0.95)) * scale).flatten())
        else:
            updates.append(torch.zeros(p.numel()))
    flat = torch.cat(updates)
    dist.all_reduce(flat)
    for p, u in zip(params, flat.split([p.numel() for p in params])):
        p.data.mul_(1 - lr * WEIGHT_DECAY).add_(u.view_as(p), alpha=-lr)


@torch.no_grad()
def losses(model, data, length):
    """Loss of every token of the stream, in windows; [window, position]."""
    rows = [data[i:i + length + 1] for i in range(0, len(data) - length, length)]
    out = []
    for i in range(0, len(rows), 8):
        ids = torch.tensor(rows[i:i + 8])
        out.append(F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:],
                                   reduction="none"))
    return torch.cat(out)


def worker(rank, args, train, quick_validation, bytes_per_token):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.backends.mkldnn.enabled = False      # plain BLAS is faster at these sizes
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512")
    dist.init_process_group("gloo", rank=rank, world_size=WORKERS)
    torch.manual_seed(SEED)
    model, sampler = Model(TRAIN_THETA), Sampler(train, SEED + rank)
    ema = copy.deepcopy(model)
    params = list(model.parameters())
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    momenta = [torch.zeros_like(p) for p in matrices]
    adam = torch.optim.AdamW([
        {"params": [model.embed_tokens.weight], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in params if p.dim() == 1], "weight_decay": 0.0}],
        lr=ADAM_LR, betas=(0.9, 0.95))
    best, best_loss, began = None, 1e9, time.time()
    for step in range(args.stop):
        done = step / args.steps
        length = [t for share, t in LENGTHS if share <= done][-1]
        lr = min(1.0, (step + 1) / 50, (1 - done) / 0.6)
        ids = torch.tensor([sampler.piece(length)
                            for _ in range(BATCH_TOKENS // WORKERS // length)])
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        flat = torch.cat([p.grad.flatten() for p in params])
        dist.all_reduce(flat)
        flat /= WORKERS
        flat *= min(1.0, 1.0 / (flat.norm().item() + 1e-6))
        for p, g in zip(params, flat.split([p.numel() for p in params])):
            p.grad.copy_(g.view_as(p))
        with torch.no_grad():
            muon_step(matrices, momenta, MUON_LR * lr, rank)
            for group in adam.param_groups:
                group["lr"] = ADAM_LR * lr
            adam.step()
            decay = min(EMA_DECAY, (1 + step) / (10 + step))
            for e, p in zip(ema.parameters(), params):
                e.lerp_(p, 1 - decay)
        model.zero_grad(set_to_none=False)
        if (step + 1) % CHECK == 0 or step + 1 == args.stop:
            half = losses(ema, quick_validation[rank], 512).mean()
            dist.all_reduce(half)
            value = half.item() / WORKERS / bytes_per_token
            if value < best_loss:
                best_loss, best = value, copy.deepcopy(ema.state_dict())
            if rank == 0:
                seconds = time.time() - began
                print(f"step {step + 1} seconds {seconds:.0f} loss {value:.4f}", flush=True)
    if rank == 0:
        torch.save(best, os.path.join(args.out, "best.pt"))


def write_json(out, name, value):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, name), "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=1150, help="length of the plan")
    parser.add_argument("--stop", type=int, default=955, help="steps really done")
    args = parser.parse_args()
    train, held = [], {}
    for path in args.texts:
        group = os.path.basename(path)
        for name, lines in read_books(path):
            chapters = chapters_of(lines)      # every 50th is held out
            held.setdefault(group, []).extend(chapters[24::50])
            train += [c for i, c in enumerate(chapters) if i % 50 != 24]
            print(name, len(chapters), "chapters", sum(len(p) + 1 for c in chapters for p in c))
    tokenizer, described = build_tokenizer([p for c in train for p in c])
    write_json(args.out, "tokenizer.json", described)
    data = encode_chapters(tokenizer, train)
    # Bytes of a chapter: its text, a newline between paragraphs, and one for the end.
    tests = {g: (encode_chapters(tokenizer, cs)[0],
                 sum(len(p.encode()) + 1 for c in cs for p in c)) for g, cs in held.items()}
    bytes_per_token = sum(b for _, b in tests.values()) / sum(len(s) for s, _ in tests.values())
    print(f"{len(data[0])} training tokens, {bytes_per_token:.3f} bytes/token")
    half = [sum((s[r * len(s) // 2:][:len(s) // 5] for s, _ in tests.values()), [])
            for r in range(WORKERS)]
    mp.spawn(worker, (args, data, half, bytes_per_token), nprocs=WORKERS)
    finish(args.out, tokenizer, tests)


def finish(out, tokenizer, tests):
    """Rounds the best weights to bf16, writes them, measures the loss."""
    torch.set_num_threads(WORKERS)
    model, state = Model(USE_THETA), torch.load(os.path.join(out, "best.pt"))
    for dtype in (torch.float32, torch.bfloat16):
        state = {n: w.to(dtype).contiguous() for n, w in state.items()}
        model.load_state_dict(state)
        for group, (stream, size) in tests.items():
            for length in (512, 1024):
                loss = losses(model, stream, length) * len(stream) / size
                by = [round(part.mean().item(), 4) for part in loss.split(256, dim=1)]
                print(f"{dtype} {group} windows of {length}: {loss.mean().item():.4f} "
                      f"nats/byte, by 256 positions {by}")
    save_file({"model." + n: w for n, w in state.items()},
              os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    reference(out, tokenizer, model)


@torch.no_grad()
def reference(out, tokenizer, model):
    """Writes golden.json: greedy answers, the same in fp32 and fp64. Prints samples too."""
    double, cases = copy.deepcopy(model).double(), []
    for prompt in PROMPTS:
        prompt_ids = tokenizer.encode(prompt).ids
        ids, gaps, first = list(prompt_ids), [], None
        for _ in range(48):
            top = double(torch.tensor([ids]))[0, -1].topk(5)
            assert model(torch.tensor([ids]))[0, -1].argmax() == top.indices[0]
            first = first or top
            gaps.append((top.values[0] - top.values[1]).item())
            ids.append(top.indices[0].item())
        ids = ids[len(prompt_ids):]
        top5 = [list(pair) for pair in zip(first.indices.tolist(), first.values.tolist())]
        cases.append({"prompt": prompt, "prompt_ids": prompt_ids, "greedy_ids": ids,
                      "greedy_text": tokenizer.decode(ids), "min_gap": min(gaps), "top5": top5})
        torch.manual_seed(SEED)
        ids = list(prompt_ids)
        while len(ids) < 150 and ids[-1] != EOS:
            logits = model(torch.tensor([ids]))[0, -1] / 0.6
            ids.append(torch.multinomial(logits.softmax(-1), 1).item())
        print(f"--- sample\n{tokenizer.decode(ids)}")
    write_json(out, "golden.json", {"cases": cases})


if __name__ == "__main__":
    main()
