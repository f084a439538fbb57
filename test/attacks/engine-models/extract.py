"""Reads out of an engine's wheel which keys its request models know. See README.md.

Parses the sources and runs none of them: no torch, no GPU, nothing but Python's own library. Usage:
    python3 extract.py vllm vllm.whl openai-A.whl openai-B.whl openai_harmony.whl > generated/vllm-VERSION.json
    python3 extract.py sglang sglang.whl > generated/sglang-VERSION.json
"""

import ast
import builtins
import json
import re
import sys
import tarfile
import typing
import zipfile
from pathlib import Path

ENGINES = {
    "vllm": {
        "operations": {
            "chat": "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest",
            "completions": "vllm.entrypoints.openai.completion.protocol:CompletionRequest",
            "embeddings": "vllm.entrypoints.pooling.embed.protocol:EmbeddingRequest",
            "tokenize": "vllm.entrypoints.serve.tokenize.protocol:TokenizeRequest",
        },
        # Where requests pass on their way to the prompt: keys are read there from plain dicts, past the models.
        "readers": [
            "vllm.entrypoints.openai",
            "vllm.entrypoints.generate",
            "vllm.entrypoints.serve",
            "vllm.entrypoints.pooling.base",
            "vllm.entrypoints.pooling.embed",
            "vllm.renderers",
            "vllm.parser",
            "vllm.tool_parsers",
            "vllm.reasoning",
            "vllm.tokenizers",
        ],
    },
    "sglang": {
        "operations": {
            "chat": "sglang.srt.entrypoints.openai.protocol:ChatCompletionRequest",
            "completions": "sglang.srt.entrypoints.openai.protocol:CompletionRequest",
            "embeddings": "sglang.srt.entrypoints.openai.protocol:EmbeddingRequest",
            "tokenize": "sglang.srt.entrypoints.openai.protocol:TokenizeRequest",
        },
        "readers": ["sglang.srt.entrypoints.openai", "sglang.srt.parser"],
    },
}

# What a variable is called tells which object of a request it holds.
READERS = {
    "message": re.compile(r"^(.*_)?(message|msg)(_dict)?$"),
    "part": re.compile(r"^(.*_)?(part|chunk|block|content_item)(_dict)?$"),
    "media": re.compile(r"^(image|video|audio|input_audio|input_image)(_obj|_url|_url_obj|_data)?$"),
    "tool_call": re.compile(r"^(.*_)?(tool_call|tc)$"),
    "function": re.compile(r"^(.*_)?(function|func|function_call)$"),
    "tool": re.compile(r"^(.*_)?tool$"),
    "response_format": re.compile(r"^(.*_)?response_format$"),
    "chat_template_kwargs": re.compile(r"^(.*_)?(template_kwargs)$"),
}

# What the `type` of a content part is called, and the table of what becomes of each.
PART_TYPE = re.compile(r"^(part|chunk|content|item|block)?_?p?type$")
PART_TABLE = re.compile(r"PARSER_MAP$")

KNOWN_ELSEWHERE = set(dir(builtins)) | set(dir(typing)) | {"ast", "types"}


class Sources:
    """The Python modules of some archives, by name, parsed when asked for."""

    def __init__(self, archives):
        self.texts = {}
        self.packages = set()
        self.trees = {}
        for archive in archives:
            for path, text in read_archive(archive):
                name = ".".join(path[:-3].split("/"))
                if name.endswith(".__init__"):
                    name = name.removesuffix(".__init__")
                    self.packages.add(name)
                self.texts[name] = text

    def tree(self, module):
        if module not in self.trees and module in self.texts:
            self.trees[module] = ast.parse(self.texts[module]())
        return self.trees.get(module)

    def under(self, prefix):
        return sorted(name for name in self.texts if name == prefix or name.startswith(prefix + "."))


def read_archive(archive):
    if archive.endswith((".tar.gz", ".tgz")):
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                # A source distribution has a folder of its own around the package.
                path = member.name.split("/", 1)[-1].removeprefix("src/").removeprefix("python/")
                if path.endswith(".py"):
                    text = tar.extractfile(member).read().decode()
                    yield path, lambda text=text: text
        return
    wheel = zipfile.ZipFile(archive)
    for path in wheel.namelist():
        if path.endswith(".py"):
            yield path, lambda path=path: wheel.read(path).decode()


def statements(tree):
    """The statements of a module, those within `if` and `try` too."""
    for node in tree.body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody") if isinstance(node, (ast.If, ast.Try)) else ():
            for inner in getattr(node, part, []):
                yield from getattr(inner, "body", [inner]) if isinstance(inner, ast.ExceptHandler) else [inner]


def find(sources, module, name, seen=()):
    """What a name in a module stands for: (module, class or assigned expression), or None if it comes from elsewhere."""
    tree = sources.tree(module)
    if tree is None or (module, name) in seen:
        return None
    seen = (*seen, (module, name))
    # Of several meanings the last one stands, as when the module runs.
    for node in reversed(list(statements(tree))):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", None) == name and node.value:
            return module, node.value
        if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
            return module, node.value
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    found = find(sources, imported_module(sources, module, node), alias.name, seen)
                    if found:
                        return found
    return None


def imported_module(sources, module, node):
    if node.level == 0:
        return node.module
    parts = module.split(".")
    base = parts[: len(parts) - node.level + (1 if module in sources.packages else 0)]
    return ".".join([*base, *([node.module] if node.module else [])])


class Reader:
    """Follows the types of fields from the request models on, and keeps every class that is met."""

    def __init__(self, sources):
        self.sources = sources
        self.models = {}
        self.unknown_types = set()

    def read_root(self, root):
        module, name = root.split(":")
        found = find(self.sources, module, name)
        if found is None:
            sys.exit(f"{root} is not in these archives")
        return sorted(self.classes_of(*found))

    def classes_of(self, module, node):
        """The classes that a type expression names."""
        if isinstance(node, ast.ClassDef):
            return {self.read_class(module, node)}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.classes_of(module, ast.parse(node.value, mode="eval").body)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id == "Literal":
                return set()
            if node.value.id == "Annotated":
                return self.classes_of(module, node.slice.elts[0])
        if isinstance(node, ast.Name):
            return self.classes_of_name(module, node.id)
        return set().union(*(self.classes_of(module, inner) for inner in ast.iter_child_nodes(node)))

    def classes_of_name(self, module, name):
        found = find(self.sources, module, name)
        if found is None:
            if name not in KNOWN_ELSEWHERE:
                self.unknown_types.add(name)
            return set()
        return self.classes_of(*found)

    def read_class(self, module, node):
        name = f"{module}.{node.name}"
        if name in self.models:
            return name
        model = self.models[name] = {"fields": {}}
        for base in node.bases:
            found = find(self.sources, module, base.id) if isinstance(base, ast.Name) else None
            if found and isinstance(found[1], ast.ClassDef):
                inherited = self.read_class(*found)
                model["fields"] |= self.models[inherited]["fields"]
                if "extra" in self.models[inherited]:
                    model["extra"] = self.models[inherited]["extra"]
        is_partial = any(word.arg == "total" and word.value.value is False for word in node.keywords)
        is_dict = is_partial or any(getattr(base, "id", "") == "TypedDict" for base in node.bases)
        for statement in node.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "model_config":
                self.read_config(model, statement.value)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.read_field(model, module, statement, is_dict, is_partial)
        return name

    def read_config(self, model, config):
        for word in getattr(config, "keywords", []):
            if word.arg == "alias_generator":
                sys.exit("alias generators are not understood here")
            if word.arg == "extra":
                model["extra"] = word.value.value

    def read_field(self, model, module, statement, is_dict, is_partial):
        key, type_text = statement.target.id, ast.unparse(statement.annotation)
        value = statement.value
        if key.startswith("_") or type_text.startswith("ClassVar") or "PrivateAttr" in ast.unparse(value or ast.Pass()):
            return
        field = {"type": type_text}
        default = read_default(value)
        if default is not None:
            field["default"] = default
        is_required = ("Required[" in type_text and "NotRequired[" not in type_text) or not is_partial
        if is_required if is_dict else default is None:
            field["required"] = True
        aliases = read_aliases(value) + read_aliases(statement.annotation)
        if aliases:
            field["aliases"] = aliases
        words = literal_words(statement.annotation)
        if words:
            field["literals"] = words
        classes = sorted(self.classes_of(module, statement.annotation))
        if classes:
            field["models"] = classes
        model["fields"][key] = field


def read_default(value):
    """The text of a field's default; None if the field has to be given."""
    if value is None:
        return None
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("Field", "field"):
        for word in value.keywords:
            if word.arg in ("default", "default_factory"):
                value = word.value
                break
        else:
            value = value.args[0] if value.args else None
    is_missing = value is None or (isinstance(value, ast.Constant) and value.value is ...)
    return None if is_missing else ast.unparse(value)


def read_aliases(node):
    """Other names of a field: of `alias`, `validation_alias` and `AliasChoices`."""
    return sorted(
        {
            constant.value
            for call in (ast.walk(node) if node else ())
            if isinstance(call, ast.Call)
            for word in call.keywords
            if word.arg in ("alias", "validation_alias")
            for constant in ast.walk(word.value)
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
        }
    )


def literal_words(annotation):
    return sorted(
        {
            constant.value
            for node in ast.walk(annotation)
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal"
            for constant in ast.walk(node.slice)
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
        }
    )


def read_key(node):
    """(variable, key) of `variable.get("key")`, `variable["key"]`, `"key" in variable`, `getattr(variable, "key")`."""
    def word(candidate):
        return candidate.value if isinstance(candidate, ast.Constant) and isinstance(candidate.value, str) else None

    if isinstance(node, ast.Call) and node.args:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in ("get", "pop", "setdefault"):
            return func.value, word(node.args[0])
        if getattr(func, "id", "") == "getattr" and len(node.args) > 1:
            return node.args[0], word(node.args[1])
    if isinstance(node, ast.Subscript):
        return node.value, word(node.slice)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return node.comparators[0], word(node.left)
    return None, None


def read_raw_keys(sources, prefixes, request_models):
    """Keys that are read from plain dicts, by what the variable holds, each with the modules that read it."""
    raw = {}
    validators = {name.rsplit(".", 1)[0] for name in request_models}
    for module in (name for prefix in prefixes for name in sources.under(prefix)):
        tree = sources.tree(module)
        for scope in ast.walk(tree):
            is_request_model = (
                isinstance(scope, ast.ClassDef) and module in validators and f"{module}.{scope.name}" in request_models
            )
            for node in ast.walk(scope) if is_request_model else ():
                variable, key = read_key(node)
                if key and getattr(variable, "id", "") in ("data", "values"):
                    raw.setdefault("request", {}).setdefault(key, set()).add(module)
        for node in ast.walk(tree):
            variable, key = read_key(node)
            name = getattr(variable, "id", "")
            if not key or not key.isidentifier() or not name:
                continue
            if name == "request" and isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
                raw.setdefault("request", {}).setdefault(key, set()).add(module)
            for place, pattern in READERS.items():
                if pattern.match(name):
                    raw.setdefault(place, {}).setdefault(key, set()).add(module)
    # Keys of the request that begin with an underscore are set by the engine itself.
    return {
        place: {key: sorted(modules) for key, modules in sorted(keys.items()) if not key.startswith("_")}
        for place, keys in sorted(raw.items())
    }


def words_of(node):
    return {
        constant.value
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    }


def read_part_types(sources, prefixes):
    """Types of content parts that are told apart in code."""
    types = set()
    for module in (name for prefix in prefixes for name in sources.under(prefix)):
        for node in ast.walk(sources.tree(module)):
            if isinstance(node, ast.Compare) and PART_TYPE.match(getattr(node.left, "id", "")):
                types |= words_of(node.comparators[0])
            target = getattr(node, "target", None) or next(iter(getattr(node, "targets", [])), None)
            if PART_TABLE.search(getattr(target, "id", "")) and isinstance(node.value, ast.Dict):
                types |= set().union(*(words_of(key) for key in node.value.keys))
    return sorted(name for name in types if name.isidentifier())


def merge(kept, models, version, versions):
    """Adds the models of one version of a dependency; a field that not all of them have says which do."""
    for name, model in models.items():
        into = kept.setdefault(name, {"fields": {}, **({"extra": model["extra"]} if "extra" in model else {})})
        for key, field in model["fields"].items():
            same = into["fields"].setdefault(key, {**field, "of": []})
            same["of"].append(version)
            for name in ("literals", "models", "aliases"):
                if name in field:
                    same[name] = sorted({*same.get(name, []), *field[name]})
    return kept


def reachable(models, roots):
    """The classes that a request can hold; those that only lend their fields to others are left out."""
    found, queue = set(), [*roots]
    while queue:
        name = queue.pop()
        if name in found or not models[name]["fields"]:
            continue
        found.add(name)
        queue += [inner for field in models[name]["fields"].values() for inner in field.get("models", [])]
    return found


def main():
    engine, *archives = sys.argv[1:]
    setup = ENGINES[engine]
    choices = [path for path in archives if re.match(r"openai-\d", Path(path).name)]
    others = [path for path in archives if path not in choices]
    versions = [Path(path).name.split("-")[1] for path in choices]
    models, operations, unknown = {}, {}, set()
    for path, version in zip(choices, versions) if choices else [(None, None)]:
        sources = Sources([*([path] if path else []), *others])
        reader = Reader(sources)
        operations = {name: reader.read_root(root) for name, root in setup["operations"].items()}
        merge(models, reader.models, version, versions)
        unknown |= reader.unknown_types
    for model in models.values():
        for field in model["fields"].values():
            if field["of"] == (versions or [None]):
                del field["of"]
    request_models = {name for names in operations.values() for name in names}
    out = {
        "engine": engine,
        "archives": [Path(path).name for path in archives],
        "operations": operations,
        "models": {name: models[name] for name in sorted(reachable(models, request_models))},
        "typesFromElsewhere": sorted(unknown),
        "rawPartTypes": read_part_types(sources, setup["readers"]),
        "rawKeys": read_raw_keys(sources, setup["readers"], request_models),
    }
    print(json.dumps(out, indent=1))


main()
