"""Other systems beside the parts of pypots that are the originals, with the same weights."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from torch import nn

from t1.errors import InputError
from t1.methods.catalog import build
from t1.models.base import Batch
from t1.models.brits import since_observed
from t1.models.pypots_parts import pypots_module

pytestmark = pytest.mark.skipif(find_spec("pypots") is None, reason="needs pypots")
N_VARS, WINDOW = 3, 16


def pypots(path):
    return pypots_module(path, needed_by="this test")


def fresh(name, **settings):
    torch.manual_seed(0)
    return build(name, n_vars=N_VARS, window=WINDOW, **settings)


def batch(*, zeroed=False):
    torch.manual_seed(1)
    values = torch.randn(5, WINDOW, N_VARS)
    observed = torch.rand(values.shape) < 0.8
    target = observed & (torch.rand(values.shape) < 0.3)
    if zeroed:
        values = torch.where(observed, values, 0)
    return Batch(values, observed & ~target, target)


def test_pypots_comes_quietly(tmp_path):
    code = (
        "from t1.models.pypots_parts import pypots_module as get\n"
        "get('nn.modules.saits', needed_by='this test').BackboneSAITS"
    )
    here = {**os.environ, "HOME": str(tmp_path)}  # where it has no settings yet, and says so
    done = subprocess.run([sys.executable, "-c", code], env=here, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_without_pypots_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypots", None)
    with pytest.raises(InputError, match=r"SAITS needs pypots[\s\S]*pip install 't1-impute\[bench\]'"):
        pypots_module("nn.nothing", needed_by="SAITS")


def test_dlinear_is_its_decomposition_and_two_maps():
    model, given = fresh("dlinear", moving_average=5), batch()
    split = pypots("nn.modules.autoformer").SeriesDecompositionBlock(5)
    maps = pypots("nn.modules.dlinear").BackboneDLinear(WINDOW, N_VARS, individual=False, d_model=1)
    for ours, theirs in ((model.season, maps.linear_seasonal), (model.trend, maps.linear_trend)):
        nn.init.normal_(ours.weight)
        theirs.load_state_dict(ours.state_dict())
    season, trend = maps(*split(torch.where(given.observed, given.values, 0)))
    assert torch.equal(model(given.values, given.observed), trend + season)


def test_patchtst_cuts_and_embeds_patches_as_the_original():
    model, given = fresh("patchtst", patch=4, stride=2, d_model=8, n_heads=2, dropout=0.0).eval(), batch()
    embed = pypots("nn.modules.patchtst").PatchEmbedding(8, 4, 2, padding=2, dropout=0.0)
    embed.value_embedding = model.embed
    seen = []
    model.encoder.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    full = torch.ones_like(given.observed)
    model(given.values, full)
    mean = given.values.mean(1, keepdim=True)
    std = (given.values.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(seen[0], embed(((given.values - mean) / std).transpose(1, 2)))


def normalised(given):
    """By the observed cells of each window, zero where nothing is observed; and the way back."""
    seen = given.observed.float()
    n = seen.sum(1, keepdim=True).clamp(min=1)
    mean = (given.values * seen).sum(1, keepdim=True) / n
    centred = (given.values - mean) * seen
    std = ((centred**2).sum(1, keepdim=True) / n + 1e-5).sqrt()
    return centred / std, lambda filled: filled * std + mean


def test_itransformer_is_attention_over_variables_written_out():
    model, given = (
        fresh("itransformer", d_model=8, n_heads=2, d_ffn=8, n_layers=2, norm="masked").eval(),
        batch(),
    )
    inputs, back = normalised(given)
    x = inputs.transpose(1, 2) @ model.embed.weight.T + model.embed.bias  # (batch, vars, d_model)
    for layer in model.encoder.layers:
        attention = layer.self_attn
        q, k, v = (x @ attention.in_proj_weight.T + attention.in_proj_bias).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in (q, k, v))  # two heads of four
        mixed = (q @ k.transpose(-1, -2) / 2).softmax(-1) @ v
        x = layer.norm1(x + attention.out_proj(mixed.transpose(1, 2).flatten(2)))
        x = layer.norm2(x + layer.linear2(nn.functional.gelu(layer.linear1(x))))
    expected = back((model.last_norm(x) @ model.project.weight.T + model.project.bias).transpose(1, 2))
    torch.testing.assert_close(model(given.values, given.observed), expected, rtol=1e-5, atol=1e-5)


def test_timesnet_is_the_original_without_calendar_marks():
    model, given = fresh("timesnet", d_model=4, d_ffn=4, top_k=2, n_kernels=2).eval(), batch()
    embedding = pypots("nn.modules.transformer.embedding").DataEmbedding(N_VARS, 4, n_max_steps=WINDOW)
    backbone = pypots("nn.modules.timesnet").BackboneTimesNet(2, WINDOW, 0, 2, 4, 4, 2)
    absent, unknown = embedding.load_state_dict(model.embed.state_dict(), strict=False)
    assert not unknown and all(name.startswith("temporal_embedding.") for name in absent)
    backbone.load_state_dict(model.backbone.state_dict())
    inputs, back = normalised(given)
    expected = back(model.project(backbone.eval()(embedding.eval()(inputs))))
    torch.testing.assert_close(model(given.values, given.observed), expected)


def test_moderntcn_is_the_original_and_its_head():
    settings = {"dims": [8], "large_kernels": [7], "small_kernels": [3]}
    model, given = fresh("moderntcn", **settings).eval(), batch()
    c = model.config
    original = pypots("nn.modules.moderntcn").BackboneModernTCN(
        *(
            WINDOW,
            N_VARS,
            WINDOW,
            c.patch,
            c.stride,
            c.downsampling,
            c.ffn_ratio,
            [*c.n_blocks],
            [7],
            [3],
            [8],
        ),
        backbone_dropout=c.dropout,
        head_dropout=c.head_dropout,
        use_multi_scale=False,
    )
    original.load_state_dict(model.backbone.state_dict(), strict=False)
    original.head.load_state_dict(model.head.state_dict())
    inputs, back = normalised(given)
    original.eval()
    expected = back(original.head(original(inputs.transpose(1, 2))).transpose(1, 2))
    torch.testing.assert_close(model(given.values, given.observed), expected)


def test_timemixerpp_leaves_out_only_what_never_reached_the_output():
    settings = {"n_layers": 2, "d_model": 8, "d_ffn": 8, "n_kernels": 2, "downsampling_layers": 2}
    model, given = fresh("timemixerpp", **settings).eval(), batch()
    original = pypots("nn.modules.timemixerpp").BackboneTimeMixerPP(
        "imputation", WINDOW, N_VARS, 0, N_VARS, 2, 8, 8, 4, 0.1, 3, 2, True, True, 2, 2, "avg", False
    )
    absent, foreign = original.load_state_dict(model.backbone.state_dict(), strict=False)
    assert not foreign
    assert all("temporal_embedding" in key or "model.1.multi_scale_season" in key for key in absent)
    with torch.no_grad():
        for p in model.parameters():  # the attentions' gates start at 0, which would hide them
            p.add_(0.05)
    original.load_state_dict(model.backbone.state_dict(), strict=False)
    with np.errstate(divide="ignore"):
        ours, theirs = (net.eval().imputation(given.values, None) for net in (model.backbone, original))
    assert torch.equal(ours, theirs)


def test_steps_since_observed():
    observed = batch().observed
    theirs = pypots("data.utils").parse_delta(observed.float())
    assert torch.equal(since_observed(observed).float(), theirs)


@pytest.mark.parametrize("name", ["saits", "imputeformer"])
def test_losses_of_seen_and_hidden_cells(name):
    given = batch(zeroed=True)
    losses = pypots("nn.modules.loss")
    model = fresh(name, dropout=0.0)
    if name == "saits":
        c = model.config
        sizes = (c.n_layers, WINDOW, N_VARS, c.d_model, c.n_heads, c.d_k, c.d_v, c.d_ffn, 0.0, 0.0)
        core = pypots("imputation.saits.core")._SAITS(*sizes, True, 1, 1, losses.MAE(), losses.MAE())
        core.encoder = model.backbone
    else:
        core = model.core
    inputs = {
        "X": torch.where(given.observed, given.values, 0),
        "missing_mask": given.observed.float(),
        "X_ori": given.values,
        "indicating_mask": given.target.float(),
    }
    theirs = core.train()(inputs, calc_criterion=True)
    torch.testing.assert_close(model.loss(given), theirs["loss"])
    torch.testing.assert_close(model(given.values, given.observed), theirs["reconstruction"])


def test_brits_loss():
    model, given = fresh("brits", d_hidden=8), batch(zeroed=True)
    known = given.observed | given.target
    losses = pypots("nn.modules.loss")
    core = pypots("imputation.brits.core")._BRITS(WINDOW, N_VARS, 8, losses.MAE(), losses.MAE())
    core.load_state_dict({f"model.{key}": tensor for key, tensor in model.backbone.state_dict().items()})
    delta = pypots("data.utils").parse_delta
    ways = {
        way: {"X": x, "missing_mask": seen.float(), "deltas": delta(seen.float())}
        for way, x, seen in (
            ("forward", given.values, known),
            ("backward", given.values.flip(1), known.flip(1)),
        )
    }
    theirs = core.train()(ways, calc_criterion=True)
    torch.testing.assert_close(model.loss(given), theirs["loss"])
    torch.testing.assert_close(model(given.values, known), theirs["reconstruction"])


def test_csdi_learns_and_draws_as_the_original():
    sizes = {"n_channels": 8, "n_heads": 2, "n_layers": 2, "d_time": 8, "d_feature": 4, "d_diffusion": 8}
    model, given = fresh("csdi", **sizes, n_diffusion_steps=6, n_samples=1), batch(zeroed=True)
    nn.init.normal_(model.core.backbone.diff_model.output_projection2.weight)  # 0 would hide the rest
    known, seen, target = (
        x.transpose(1, 2).float().contiguous() for x in (given.values, given.observed, given.target)
    )
    inputs = {
        "X": known * seen,
        "X_ori": known,
        "cond_mask": seen,
        "indicating_mask": target,
        "observed_tp": torch.arange(WINDOW).float().expand(len(known), -1),
    }
    torch.manual_seed(2)
    ours = model.train().loss(given)
    torch.manual_seed(2)
    torch.testing.assert_close(ours, model.core(inputs, calc_criterion=True)["loss"])
    model.eval()
    torch.manual_seed(3)
    ours = model(given.values, given.observed)
    torch.manual_seed(3)
    with torch.no_grad():
        torch.testing.assert_close(ours, model.core(inputs)["reconstruction"][:, 0])
