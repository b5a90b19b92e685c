"""Options of all commands: each says what it does, and those in common say the same everywhere."""

from typer.main import get_command

from lamina.cli import app


def commands(group=None):
    for command in (group or get_command(app)).commands.values():
        yield from commands(command) if hasattr(command, "commands") else [command]


def test_every_option_and_command_says_what_it_does():
    found = {command.name: command for command in commands()}
    assert {"train", "search", "predict", "experiment", "show"} <= set(found)
    for command in found.values():
        assert command.help.endswith("."), command.name
        for parameter in command.params:
            assert parameter.help.endswith("."), (command.name, parameter.name)


def test_options_in_common_say_the_same():
    train, search = (
        {parameter.name: parameter.help for parameter in command.params}
        for command in commands()
        if command.name in ("train", "search")
    )
    for name in ("data", "target", "read", "epochs", "set_", "device", "threads", "as_json"):
        assert train[name] == search[name]
    assert train["as_json"] == "Print the result as JSON."
