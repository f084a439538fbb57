"""`litellm` of PyPI as a client of a server of the public chat API."""

import base64
import json
import os

# It would fetch its table of prices and a tokenizer to reckon costs with, and tell of itself. Read when it is imported.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_TELEMETRY="False", HF_HUB_OFFLINE="1")

import litellm
from litellm.llms.custom_httpx.http_handler import HTTPHandler
from openai import OpenAI

from serve import Trip, call_tool, chat_fields, image_fields, read_stream, serve, to_sight, to_usage

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
    model = f"openai/{order['model']}"

    def complete(fields, **more):
        return litellm.completion(**{**fields, "model": model}, **reach, **more)

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
                model=model,
                input=order["texts"],
                encoding_format=order["encoding"],
                **reach,
            )
            return {"vectors": [entry["embedding"] for entry in answer.data], "usages": [to_usage(answer.usage)]}
        case "draw":
            # It takes `response_format` for models of its own list alone.
            form = {"extra_body": {"response_format": order["as"]}}
            answer = litellm.image_generation(**{**image_fields(order), "model": model}, **form, **reach)
            return {"images": [image.b64_json or image.url for image in answer.data]}
        case "film":
            # Its clips take no client of `openai`.
            film_reach = {**reach, "client": HTTPHandler(client=http_client)}
            litellm.video_generation(model=model, prompt=order["prompt"], seconds=order["seconds"], **film_reach)
            return {}
        case "speak":
            fields = {"input": order["text"], "voice": order["voice"], "response_format": order["format"]}
            return {"audio": base64.b64encode(litellm.speech(model=model, **fields, **reach).read()).decode()}
        case "hear":
            file = ("speech.wav", base64.b64decode(order["audio"]))
            return {"text": litellm.transcription(model, file, response_format=order["format"], **reach).text}


serve(obey)
