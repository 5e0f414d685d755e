"""Providers without a cloud: they have the real names and types, and keep nothing.

One gRPC server for each provider, in this process; Terraform is told of them by `TF_REATTACH_PROVIDERS`, so that `init` installs
none. What the cloud would choose is made up: `TYPE.ATTRIBUTE`. Each ephemeral secret is `SECRET`, so that a test can look
where it went.
"""

import json
from concurrent import futures

import grpc
import msgpack

SECRET = "sk-secret-that-no-state-may-hold"
UNKNOWN = msgpack.ExtType(0, b"\x00")
NESTING = {"single": 1, "list": 2, "set": 3, "map": 4}
# Where a form is looked at.
CHOSEN = {
    "aws_iam_openid_connect_provider.arn": "arn:aws:iam::1:oidc-provider/issuer.example/id/1",
    "google_cloud_run_v2_service.uri": "https://trestle-x.a.run.app",
}
# Nested attributes (`a = [{ }]`) in providers of the newer framework; in older ones a list of objects.
FRAMEWORK = {"helm"}


class Shape:
    """A schema as messages of the protocol, and what is done with values of it."""

    def __init__(self, messages, fields, framework):
        self.messages, self.fields, self.framework = messages, fields, framework

    def schema(self):
        return self.messages.Schema(block=self.block(self.fields))

    def block(self, fields):
        block = self.messages.Block()
        for field in fields:
            if not field["block"]:
                block.attributes.append(self.attribute(field))
                continue
            single = field["nested"] == "single"
            alone = field["name"] == "timeouts" or (single and self.framework)
            block.block_types.append(
                self.messages.NestedBlock(
                    type_name=field["name"],
                    block=self.block(field["fields"]),
                    nesting=1 if alone else NESTING["list" if single else field["nested"]],
                    min_items=1 if field["required"] and not alone else 0,
                    max_items=1 if single and not alone else 0,
                )
            )
        return block

    def attribute(self, field):
        flags = {flag: field[flag] for flag in ("name", "required", "optional", "computed", "write_only")}
        if "nested" in field and self.framework:
            inner = [self.attribute(one) for one in field["fields"]]
            nested = self.messages.Object(attributes=inner, nesting=NESTING[field["nested"]])
            return self.messages.Attribute(nested_type=nested, **flags)
        return self.messages.Attribute(type=json.dumps(type_of(field)).encode(), **flags)

    def filled(self, value, unknown, type_name):
        """A value with what the cloud chooses: not known yet, or made up."""
        return fill(value, self.fields, unknown, type_name)


def type_of(field):
    """The type of an attribute as Terraform writes it in JSON."""
    if "type" in field:
        return field["type"]
    members = ["object", {one["name"]: type_of(one) for one in field["fields"]}]
    return [{"single": "list"}.get(field["nested"], field["nested"]), members]


def fill(value, fields, unknown, type_name):
    """Each member: written ones stay, write-only ones go, computed ones that are null are chosen."""
    made = dict(value)
    for field in fields:
        name, now = field["name"], value.get(field["name"])
        if field["write_only"]:
            made[name] = None
        elif field["computed"] and (now is None or now == UNKNOWN):
            made[name] = UNKNOWN if unknown else chosen(field, type_name)
        elif "nested" in field and isinstance(now, list):
            made[name] = [fill(one, field["fields"], unknown, type_name) for one in now]
        elif "nested" in field and isinstance(now, dict):
            made[name] = fill(now, field["fields"], unknown, type_name)
    return made


def chosen(field, type_name):
    """What stands for a choice of the cloud."""
    if "nested" in field:
        members = {one["name"]: chosen(one, type_name) for one in field["fields"]}
        return members if field["nested"] == "single" and not field["block"] else [members]
    kind = field["type"]
    if isinstance(kind, list):
        return {} if kind[0] == "map" else []
    if kind == "string":
        name = f"{type_name}.{field['name']}"
        return CHOSEN.get(name, f"arn:aws:made-up:{name}" if field["name"] == "arn" else name)
    return {"number": 1, "bool": False}.get(kind)


def servicer(base, messages, schemas, framework):
    """What answers for one provider."""
    shapes = {
        kind: {name: Shape(messages, fields, framework) for name, fields in schemas[kind].items()}
        for kind in ("resource", "data", "ephemeral")
    }
    configuration = Shape(messages, schemas["provider"], framework)

    def packed(value):
        return messages.Value(msgpack=msgpack.packb(value))

    def unpacked(value):
        return msgpack.unpackb(value.msgpack, strict_map_key=False, ext_hook=msgpack.ExtType)

    class Provider(base):
        def GetProviderSchema(self, request, context):
            return messages.Schemas(
                provider=configuration.schema(),
                resource_schemas={name: shape.schema() for name, shape in shapes["resource"].items()},
                data_source_schemas={name: shape.schema() for name, shape in shapes["data"].items()},
                ephemeral_resource_schemas={name: shape.schema() for name, shape in shapes["ephemeral"].items()},
            )

        def UpgradeResourceState(self, request, context):
            return messages.Upgraded(upgraded_state=messages.Value(json=request.raw_state.json))

        def ReadResource(self, request, context):
            return messages.Seen(new_state=request.current_state)

        def PlanResourceChange(self, request, context):
            proposed = unpacked(request.proposed_new_state)
            if proposed is not None:
                shape = shapes["resource"][request.type_name]
                proposed = shape.filled(proposed, True, request.type_name)
            return messages.Planned(planned_state=packed(proposed), legacy_type_system=not framework)

        def ApplyResourceChange(self, request, context):
            planned = unpacked(request.planned_state)
            if planned is not None:
                planned = shapes["resource"][request.type_name].filled(planned, False, request.type_name)
            return messages.Applied(new_state=packed(planned), legacy_type_system=not framework)

        def ReadDataSource(self, request, context):
            shape = shapes["data"][request.type_name]
            return messages.Found(state=packed(shape.filled(unpacked(request.config), False, request.type_name)))

        def OpenEphemeralResource(self, request, context):
            shape = shapes["ephemeral"][request.type_name]
            result = shape.filled(unpacked(request.config), False, request.type_name)
            result |= {name: SECRET for name in ("secret_string", "secret_data", "value") if name in result}
            return messages.Opened(result=packed(result))

    quiet = {
        "GetResourceIdentitySchemas": messages.Nothing,
        "ValidateProviderConfig": messages.ConfigurationChecked,
        "ValidateResourceConfig": messages.Checked,
        "ValidateDataResourceConfig": messages.Checked,
        "ValidateEphemeralResourceConfig": messages.Checked,
        "ConfigureProvider": messages.Checked,
        "CloseEphemeralResource": messages.Checked,
        "StopProvider": messages.Nothing,
    }
    for name, answer in quiet.items():
        setattr(Provider, name, lambda self, request, context, answer=answer: answer())
    return Provider()


class Cloud:
    """Servers for all providers; `reattach` is what Terraform has to be told."""

    def __init__(self, schemas, folder):
        messages, services = grpc.protos_and_services("plugin.proto")
        self.servers, self.reattach = [], {}
        for name, schema in schemas.items():
            socket = f"{folder}/{name}"
            server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.max_send_message_length", 1 << 28)])
            answering = servicer(services.ProviderServicer, messages, schema, name in FRAMEWORK)
            services.add_ProviderServicer_to_server(answering, server)
            server.add_insecure_port(f"unix:{socket}")
            server.start()
            self.servers.append(server)
            self.reattach[f"registry.terraform.io/hashicorp/{name}"] = {
                "Protocol": "grpc",
                "ProtocolVersion": 6,
                "Pid": 1,
                "Test": True,
                "Addr": {"Network": "unix", "String": socket},
            }

    def stop(self):
        for server in self.servers:
            server.stop(None)
