import { type ChatMessage, renderChat } from '../tokenizer/renderChat.ts';
import type { TokenId } from '../tokenizer/tokenizer.ts';
import type { RequestMessage, ToolDefinition } from '../wire/chatRequest.ts';
import { badRequest, EngineError, unfetchableImage } from '../wire/engineError.ts';
import type { EngineContext } from './engineContext.ts';

/** Renders a conversation through the chat template. Throws what vLLM answers to images it cannot take. */
export function renderPrompt(
  { messages, tools }: { messages: readonly RequestMessage[]; tools: readonly ToolDefinition[] | undefined },
  { engine }: EngineContext,
  { addGenerationPrompt }: { addGenerationPrompt: boolean },
): TokenId[] {
  const { maxImagesPerPrompt: maxImages, servedModelName } = engine.config;
  if (messages.length === 0)
    throw badRequest('Cannot apply chat template to an empty conversation. Provide at least one message.');
  const rendered = messages.map(toTemplateMessage);
  const images = rendered.flatMap(({ parts }) => parts.flatMap((part) => ('imageUrl' in part ? [part.imageUrl] : [])));
  if (maxImages === 0 && images.length > 0) throw badRequest(`${servedModelName} is not a multimodal model`);
  if (images.length > maxImages) throw badRequest(`At most ${maxImages} image(s) may be provided in one prompt.`);
  for (const url of images) checkImage(url);
  return renderChat(rendered, { tools, addGenerationPrompt });
}

function toTemplateMessage({ role, content, tool_calls = [] }: RequestMessage): ChatMessage {
  const parts: ChatMessage['parts'] = [];
  if (typeof content === 'string') parts.push({ text: content });
  for (const part of Array.isArray(content) ? content : []) {
    if (part.type === 'image_url') parts.push({ imageUrl: part.image_url.url });
    else parts.push({ text: part.type === 'text' ? part.text : part.refusal });
  }
  for (const { function: called } of tool_calls) parts.push({ text: called.name }, { text: called.arguments });
  return { role, parts };
}

/** First bytes of the formats an engine decodes, in base64 so that an image is never decoded just to be recognised. */
const IMAGE_OPENINGS = ['iVBORw0KGgo', '/9j/', 'R0lGOD', 'UklGR'];

function checkImage(url: string): void {
  if (/^https?:\/\//i.test(url)) throw unfetchableImage(url);
  const data = /^data:[^,]*?(;base64)?,/i.exec(url);
  if (!data) throw badRequest('Invalid URL: it must be an HTTP, data or file URL.');
  if (!data[1]) {
    const message = 'Only base64 data URLs are supported for now.';
    throw new EngineError({ status: 501, type: 'NotImplementedError', message });
  }
  const isImage = IMAGE_OPENINGS.some((opening) => url.startsWith(opening, data[0].length));
  if (!isImage) throw badRequest('cannot identify image file');
}

export const countImages = (messages: readonly RequestMessage[]): number =>
  messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === 'image_url')
    .length;
