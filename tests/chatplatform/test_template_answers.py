"""chatplatform/template_answers.py: templates of servers, and the bounded tree of their contents."""

from typing import Any

import pytest

from chatplatform.template_answers import (
    MOST_CHANNELS,
    MOST_NAME,
    MOST_ROLES,
    PlatformTemplate,
    TemplateTree,
    read_template,
    unpacked,
)
from tests.support.platform_stand_in import ADA

CODE = "hgM48av5Q69A"
EVERYONE = {"id": 0, "name": "@everyone", "color": 0}
LONGEST_FILE = 512 * 1024


def channel(number: int, name: object = "general", **others: Any) -> dict[str, Any]:
    return {"id": number, "type": 0, "name": name, "position": number, **others}


def answer(channels: object = (), roles: object = (EVERYONE,), **others: Any) -> dict[str, Any]:
    server = {"channels": _listed(channels), "roles": _listed(roles)}
    known = {"code": CODE, "usage_count": 7, "creator_id": ADA, "serialized_source_guild": server}
    return {**known, **others}


def _listed(value: object) -> object:
    return [*value] if isinstance(value, tuple) else value


def tree_of(channels: object = (), roles: object = (EVERYONE,)) -> TemplateTree:
    found = read_template(answer(channels, roles), CODE)
    assert found
    assert found.tree
    return found.tree


def names(tree: TemplateTree) -> dict[str, list[str]]:
    return {each.name: [channel.name for channel in each.channels] for each in tree.categories}


def test_channels_are_in_their_categories_and_in_the_order_of_the_server() -> None:
    tree = tree_of(
        (
            channel(5, "later", position=9, parent_id=2),
            channel(3, "rules", parent_id=2),
            channel(2, "Welcome", type=4),
            channel(4, "Empty", type=4),
            channel(1, "start"),
            channel(6, "lost", parent_id=99),
        )
    )
    assert names(tree) == {"": ["start", "lost"], "Welcome": ["rules", "later"], "Empty": []}
    assert (tree.channels, tree.more_channels) == (4, 0)


def test_ids_are_numbers_or_texts() -> None:
    tree = tree_of((channel(2, "Welcome", type=4), channel(3, "rules", parent_id="2")))
    assert names(tree) == {"Welcome": ["rules"]}


def test_a_channel_has_its_kind_and_is_closed_if_everyone_is_kept_out() -> None:
    overwrites = [{"id": 0, "type": 0, "allow": "0", "deny": "1024"}]
    shown = tree_of(
        (
            channel(1, type=2),
            channel(2, type=5),
            channel(3, type=13),
            channel(4, type=15),
            channel(5, permission_overwrites=overwrites),
            channel(6, permission_overwrites=[{"id": 1, "deny": "1024"}]),
            channel(7, type=99),
        )
    ).categories[0]
    kinds = [(each.kind, each.is_open) for each in shown.channels]
    assert kinds == [
        *(("voice", True), ("news", True), ("stage", True), ("forum", True)),
        *(("text", False), ("text", True), ("text", True)),
    ]


def test_roles_have_their_colours_and_the_role_of_everyone_is_none_of_them() -> None:
    tree = tree_of(roles=(EVERYONE, {"id": 1, "name": "Host", "color": 0xE67E22}, {"id": 2, "name": "New"}))
    assert [(each.name, each.colour) for each in tree.roles] == [("Host", 0xE67E22), ("New", 0)]
    assert tree.role_count == 2


@pytest.mark.parametrize("more", [0, 1, 37])
def test_a_tree_has_500_channels_and_250_roles_and_the_number_of_the_rest(more: int) -> None:
    channels = tuple(channel(number) for number in range(1, 500 + more + 1))
    roles = (EVERYONE, *({"id": number, "name": "r"} for number in range(1, 250 + more + 1)))
    tree = tree_of(channels, roles)
    assert (MOST_CHANNELS, MOST_ROLES) == (500, 250)
    assert sum(len(each.channels) for each in tree.categories) == 500
    assert (len(tree.roles), tree.more_channels, tree.more_roles) == (250, more, more)
    assert (tree.channels, tree.role_count) == (500 + more, 250 + more)


def test_a_tree_of_the_longest_names_is_a_small_file() -> None:
    wide = "\N{PILE OF POO}" * 1_000
    tree = tree_of(
        tuple(channel(number, wide) for number in range(1, 2_000)),
        tuple({"id": number, "name": wide} for number in range(2_000)),
    )
    assert {len(each.name) for each in tree.roles} == {MOST_NAME}
    assert len(tree.file.content) < LONGEST_FILE
    assert unpacked(tree.file.content) == tree


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\u202eb", "a b"),
        ("a\n\x00b\u2028", "a  b"),
        ("\u2067\u200b", "?"),
        ("", "?"),
        (None, "?"),
        (7, "?"),
        (["x"], "?"),
        ("x" * 101, "x" * 100),
    ],
)
def test_a_name_is_one_readable_line_of_at_most_100_characters(name: object, shown: str) -> None:
    assert tree_of((channel(1, name),)).categories[0].channels[0].name == shown
    assert tree_of(roles=({"id": 1, "name": name},)).roles[0].name == shown


@pytest.mark.parametrize(
    "odd",
    [
        {"id": {}, "type": [], "name": 1, "position": "x", "parent_id": [2]},
        {"id": 1 << 90, "type": -1, "position": True, "parent_id": 1e300},
        {"permission_overwrites": [None, 1, {"id": "0", "deny": "x" * 99}, {"id": [], "deny": 1024}]},
        {"permission_overwrites": 3},
        None,
        [],
        "channel",
    ],
)
def test_a_channel_or_role_of_wrong_types_spoils_no_other(odd: object) -> None:
    tree = tree_of((odd, channel(1, "general")), (odd, {"id": 1, "name": "Host"}))
    shown = [channel for each in tree.categories for channel in each.channels]
    assert "general" in [each.name for each in shown]
    assert all(each.is_open for each in shown)
    assert "Host" in [each.name for each in tree.roles]


@pytest.mark.parametrize("server", [None, [], 3, {}, {"channels": []}, {"channels": {}, "roles": []}])
def test_without_lists_of_channels_and_roles_there_is_no_tree(server: object) -> None:
    found = read_template(answer(serialized_source_guild=server), CODE)
    assert found == PlatformTemplate(CODE, 7, ADA, None)


@pytest.mark.parametrize("wrong", [None, "7", -1, True, 1.5, 1 << 60, [7], {}])
def test_a_fact_of_a_wrong_type_is_unknown(wrong: object) -> None:
    found = read_template(answer(usage_count=wrong, creator_id=wrong), CODE)
    assert found
    assert (found.uses, found.creator_id) == (None, None)


@pytest.mark.parametrize("other", [None, [], "x", 3, {}, {"code": CODE.lower()}, {"code": [CODE]}])
def test_an_answer_about_something_else_is_no_answer(other: object) -> None:
    assert read_template(other, CODE) is None
