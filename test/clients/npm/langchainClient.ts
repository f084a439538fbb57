import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { ChatOpenAI, DallEAPIWrapper, OpenAIEmbeddings } from '@langchain/openai';
import { type APIError, type ClientOptions, OpenAI } from 'openai';
import { FORECAST, type Message, type Order, tripSchema, type Usage } from '../order.ts';
import { createNpmClient, type Sight } from './createNpmClient.ts';
import { toOpenaiRefusal } from './openaiRefusal.ts';
import { toVector } from './toVector.ts';

type Asked<Kind extends Order['do']> = Extract<Order, { do: Kind }>;

/** LangChain's classes for the public chat API. */
export const langchainClient = createNpmClient({
  name: 'LangChain (npm)',
  errors: {
    wrongKey: 'AuthenticationError',
    unknownModel: 'NotFoundError',
    insufficientBalance: 'APIError',
    rateLimited: 'RateLimitError',
    promptTooLong: 'ContextOverflowError',
    unprocessable: 'UnprocessableEntityError',
  },
  lacks: ['listModels', 'film', 'clips', 'speak', 'hear'],
  hides: ['embeddingUsage'],
  async answer(order, { baseUrl, apiKey, maxRetries, fetch }) {
    const fields = { apiKey, maxRetries, configuration: { baseURL: baseUrl, fetch } };
    switch (order.do) {
      case 'listModels':
        throw new Error('LangChain does not list models');
      case 'film':
      case 'speak':
      case 'hear':
        throw new Error('LangChain makes neither clips nor speech nor transcripts');
      case 'draw':
        return draw(new ImageTool(order, { baseURL: baseUrl, apiKey, maxRetries, fetch }), order);
      case 'chat': {
        const { model, maxTokens } = order;
        return chat(new ChatOpenAI({ ...fields, model, ...(maxTokens !== undefined && { maxTokens }) }), order);
      }
      case 'callTool':
        return callTool(new ChatOpenAI({ ...fields, model: order.model }), order);
      case 'structure': {
        const { raw, parsed } = await new ChatOpenAI({ ...fields, model: order.model })
          .withStructuredOutput(tripSchema, { method: 'jsonSchema', includeRaw: true })
          .invoke(order.question);
        return { ...toSight(toAiMessage(raw)), value: parsed };
      }
      case 'embed': {
        const { model, texts, encoding: encodingFormat } = order;
        const vectors = await new OpenAIEmbeddings({ ...fields, model, encodingFormat }).embedDocuments(texts);
        return { vectors: vectors.map(toVector) };
      }
    }
  },
  toRefusal(error) {
    if (!(error instanceof Error)) throw error;
    // The client wraps this error alone.
    if (error.name === 'ContextOverflowError') {
      return { ...toOpenaiRefusal(error.cause as APIError), errorName: error.name };
    }
    if (!('status' in error)) throw error;
    return toOpenaiRefusal(error as APIError);
  },
});

/** The tool of images. Its own client of `openai` takes neither a `fetch` nor a number of retries. */
class ImageTool extends DallEAPIWrapper {
  constructor({ model, count, as, size }: Asked<'draw'>, access: ClientOptions) {
    const fields = { model, n: count, dallEResponseFormat: as, apiKey: String(access.apiKey) };
    // Servers of the API have more sizes than the type lists.
    super({ ...fields, ...(size !== undefined && { size: size as '1024x1024' }) });
    this.client = new OpenAI(access);
  }
}

/** Returns the image, or a list of `image_url` contents if several are asked for. */
async function draw(tool: ImageTool, { prompt }: Asked<'draw'>): Promise<Sight> {
  const answer: string | { image_url: string | { url: string } }[] = await tool.invoke(prompt);
  if (typeof answer === 'string') return { images: [answer] };
  return { images: answer.map(({ image_url: image }) => (typeof image === 'string' ? image : image.url)) };
}

async function chat(model: ChatOpenAI, order: Asked<'chat'>): Promise<Sight> {
  const { messages, stream, seed, leaveAfter = Number.POSITIVE_INFINITY } = order;
  const options = { ...(seed !== undefined && { seed }) };
  const asked = messages.map(toMessage);
  if (!stream) return toSight(await model.invoke(asked, options));
  let pieces = 0;
  let reasoning = '';
  let whole = new AIMessageChunk('');
  for await (const chunk of await model.stream(asked, options)) {
    if (chunk.text !== '') pieces += 1;
    reasoning += chunk.additional_kwargs.reasoning_content ?? '';
    whole = whole.concat(chunk);
    if (pieces === leaveAfter) break;
  }
  return { ...toSight(whole), reasoning, pieces };
}

async function callTool(model: ChatOpenAI, { question, stream }: Asked<'callTool'>): Promise<Sight> {
  const messages: BaseMessage[] = [new HumanMessage(question)];
  const forecast = { name: 'forecast', description: 'The weather', schema: tripSchema };
  const ask = async (tool_choice: 'required' | 'auto'): Promise<AIMessage> => {
    const bound = model.bindTools([forecast], { tool_choice });
    if (!stream) return bound.invoke(messages);
    let whole = new AIMessageChunk('');
    for await (const chunk of await bound.stream(messages)) whole = whole.concat(chunk);
    return whole;
  };
  const first = await ask('required');
  const calls = first.tool_calls ?? [];
  messages.push(first, ...calls.map(({ id = '' }) => new ToolMessage({ tool_call_id: id, content: FORECAST })));
  const last = await ask('auto');
  return {
    ...toSight(last),
    toolCalls: calls.map(({ name, args }) => ({ name, arguments: args })),
    usages: [first, last].flatMap(({ usage_metadata: usage }) => (usage ? [toUsage(usage)] : [])),
  };
}

function toMessage({ role, text, imageUrl }: Message): BaseMessage {
  if (role === 'system') return new SystemMessage(text);
  if (role === 'assistant') return new AIMessage(text);
  if (imageUrl === undefined) return new HumanMessage(text);
  return new HumanMessage({
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: imageUrl } },
    ],
  });
}

function toAiMessage(message: BaseMessage): AIMessage {
  if (!AIMessage.isInstance(message)) throw new Error(`an answer of type ${message.type}`);
  return message;
}

function toSight(message: AIMessage): Sight {
  const { finish_reason: finishReason } = message.response_metadata;
  const { reasoning_content: reasoning } = message.additional_kwargs;
  return {
    text: message.text,
    reasoning: String(reasoning ?? ''),
    ...(finishReason ? { finishReason: String(finishReason) } : {}),
    usages: message.usage_metadata ? [toUsage(message.usage_metadata)] : [],
  };
}

function toUsage(usage: UsageMetadata): Usage {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    cache_read_input_tokens: usage.input_token_details?.cache_read ?? 0,
  };
}
