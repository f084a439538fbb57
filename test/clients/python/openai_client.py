"""`openai` of PyPI, the package that the public chat API comes with."""

import base64
import struct
import tempfile

from openai import APIError, OpenAI

from serve import Trip, call_tool, chat_fields, image_fields, read_stream, serve, to_sight, to_usage

WITH_USAGE = {"include_usage": True}


def obey(order, access, http_client):
    client = OpenAI(
        base_url=access["baseUrl"],
        api_key=access["apiKey"],
        http_client=http_client,
        max_retries=access["maxRetries"],
    )
    match order["do"]:
        case "listModels":
            return {"models": [model.id for model in client.models.list()]}
        case "chat":
            return chat(client, order)
        case "callTool":
            return call_tool(order, lambda fields: ask(client, fields, order["stream"]))
        case "structure":
            messages = [{"role": "user", "content": order["question"]}]
            answer = client.chat.completions.parse(
                model=order["model"], messages=messages, response_format=Trip
            )
            return {**to_sight(answer), "value": answer.choices[0].message.parsed.model_dump()}
        case "embed":
            answer = client.embeddings.create(
                model=order["model"], input=order["texts"], encoding_format=order["encoding"]
            )
            vectors = [entry.embedding for entry in answer.data]
            # Asked for base64 by name, it hands over what came.
            return {"vectors": [decode(vector) for vector in vectors], "usages": [to_usage(answer.usage)]}
        case "draw":
            answer = client.images.generate(**image_fields(order), response_format=order["as"])
            return {"images": [image.b64_json or image.url for image in answer.data]}
        case "film":
            return {"clip": film(client, order)}
        case "speak":
            return {"audio": speak(client, order)}
        case "hear":
            file = ("speech.wav", base64.b64decode(order["audio"]))
            heard = client.audio.transcriptions.create(
                model=order["model"], file=file, response_format=order["format"]
            )
            return {"text": heard if isinstance(heard, str) else heard.text}


def chat(client, order):
    fields = chat_fields(order)
    if not order["stream"]:
        return to_sight(client.chat.completions.create(**fields))
    chunks = client.chat.completions.create(**fields, stream=True, stream_options=WITH_USAGE)
    return read_stream(chunks, order.get("leaveAfter"), chunks.close)


def film(client, order):
    video = client.videos.create_and_poll(
        model=order["model"], prompt=order["prompt"], seconds=order["seconds"]
    )
    content = client.videos.download_content(video.id).read()
    listed = [each.id for each in client.videos.list(limit=1)]
    deleted = client.videos.delete(video.id).deleted
    try:
        client.videos.retrieve(video.id)
        error = "none"
    except APIError as refused:
        error = type(refused).__name__
    return {
        "status": video.status,
        "bytes": base64.b64encode(content).decode(),
        "listed": listed,
        "deleted": deleted,
        "errorAfterwards": error,
    }


def speak(client, order):
    with tempfile.NamedTemporaryFile() as file:
        with client.audio.speech.with_streaming_response.create(
            model=order["model"], input=order["text"], voice=order["voice"], response_format=order["format"]
        ) as answer:
            answer.stream_to_file(file.name)
        return base64.b64encode(file.read()).decode()


def ask(client, fields, stream):
    if not stream:
        return client.chat.completions.create(**fields)
    with client.chat.completions.stream(**fields, stream_options=WITH_USAGE) as chunks:
        return chunks.get_final_completion()


def decode(vector):
    """The numbers of a vector: float32, least significant byte first, where it is a base64 text."""
    if isinstance(vector, str):
        data = base64.b64decode(vector)
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    return vector


serve(obey)
