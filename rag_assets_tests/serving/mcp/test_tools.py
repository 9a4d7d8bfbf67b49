"""Each tool says what the library says, over both transports, within its budget."""

import json


def test_tools_are_listed(call):
    tools = call.ask("list_tools")
    t = [each.model_dump(mode="json", by_alias=True) for each in tools.tools]
    print(len(json.dumps(t)), sum(len(json.dumps(x["inputSchema"]) + x["description"]) for x in t))


def test_search(call):
    print(call("lookup", plan={"source": "laboratory", "table": "alloys", "where": []}))
    print(
        call.refused(
            "lookup",
            plan={
                "source": "laboratory",
                "table": "alloys",
                "where": [{"column": "x", "op": "=", "values": [1]}],
            },
        )
    )
    print(call.refused("lookup", plan={"source": "laboratory", "tab": "alloys"}))
    print(call("outline"))
    print(call("outline", place="documents/spring.md"))
    print(call("outline", place="laboratory/alloys"))
    print(call.refused("outline", place="documents/nothing.md"))
    print(call.refused("outline", place="nowhere/nothing.md"))
    print(call("status"))
    print(call("verify", text="It is 12 N/mm [1].\n\nSources:\n1. spring.md"))
    print(call.ask("read_resource", "rag://tables"))
    print(call.refused("search"))
    print(call.refused("nothing"))
    print(call.refused("search", query="x", foo=1))
    print(call.refused("search", query="x", domain="rows"))
    print(call.refused("fetch", id="zzz"))
    print(call.refused("fetch", id="0000"))
    print(call.refused("grep", pattern="(?=x)", is_pattern=True))
    id = call("search", query="stiffness of the spring", k=2)["results"][0]["id"]
    print(call.ask("read_resource", f"rag://u/{id}?v=1"))
    print(call.refused("view_page", id=id))
