"""`litellm` of PyPI as a client of a server of the public chat API."""

import json
import os

# It would fetch its table of prices and a tokenizer to reckon costs with, and tell of itself. Read when it is imported.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_TELEMETRY="False", HF_HUB_OFFLINE="1")

import litellm
from openai import OpenAI

from serve import Trip, call_tool, chat_fields, read_stream, serve, to_sight, to_usage

litellm.disable_hf_tokenizer_download = True
litellm.telemetry = False
litellm.suppress_debug_info = True


def obey(order, access, http_client):
    # It takes the HTTP client from the client of `openai` that it is handed.
    client = OpenAI(
        base_url=access["baseUrl"],
        api_key=access["apiKey"],
        http_client=http_client,
        max_retries=access["maxRetries"],
    )
    reach = {"client": client, "api_base": access["baseUrl"], "api_key": access["apiKey"]}
    reach["max_retries"] = access["maxRetries"]

    def complete(fields, **more):
        return litellm.completion(**{**fields, "model": f"openai/{fields['model']}"}, **reach, **more)

    def ask(fields):
        if not order["stream"]:
            return complete(fields)
        chunks = list(complete(fields, stream=True, stream_options={"include_usage": True}))
        return litellm.stream_chunk_builder(chunks, messages=fields["messages"])

    match order["do"]:
        case "chat" if order["stream"]:
            chunks = complete(chat_fields(order), stream=True, stream_options={"include_usage": True})
            return read_stream(chunks, order.get("leaveAfter"), lambda: chunks.completion_stream.close())
        case "chat":
            return to_sight(complete(chat_fields(order)))
        case "callTool":
            return call_tool(order, ask)
        case "structure":
            messages = [{"role": "user", "content": order["question"]}]
            answer = complete({"model": order["model"], "messages": messages}, response_format=Trip)
            return {**to_sight(answer), "value": json.loads(answer.choices[0].message.content)}
        case "embed":
            answer = litellm.embedding(
                model=f"openai/{order['model']}",
                input=order["texts"],
                encoding_format=order["encoding"],
                **reach,
            )
            return {"vectors": [entry["embedding"] for entry in answer.data], "usages": [to_usage(answer.usage)]}


serve(obey)
