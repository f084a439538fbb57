import { chatChunkSchema, chatCompletionSchema, toolCallSchema } from '@turnpike/public-api/chatAnswer';
import { chatMessageSchema, chatRequestSchema, messageContentSchema } from '@turnpike/public-api/chatRequest';
import { completionRequestSchema } from '@turnpike/public-api/completionRequest';
import { embeddingListSchema } from '@turnpike/public-api/embeddingList';
import { embeddingRequestSchema } from '@turnpike/public-api/embeddingRequest';
import {
  accountRefusedSchema,
  bareErrorSchema,
  errorEnvelopeSchema,
  flatErrorSchema,
  insufficientBalanceSchema,
  regionNotServedSchema,
  unknownModelSchema,
} from '@turnpike/public-api/errorBodies';
import { keyInformationSchema } from '@turnpike/public-api/keyInformation';
import { modelEntrySchema, modelListSchema } from '@turnpike/public-api/modelEntry';
import { textChunkSchema, textCompletionSchema } from '@turnpike/public-api/textCompletion';
import { tokenUsageSchema } from '@turnpike/public-api/tokenUsage';
import { usageRecordSchema } from '@turnpike/public-api/usageRecord';
import { usageSummarySchema } from '@turnpike/public-api/usageSummary';
import { z } from 'zod';
import { type JsonSchema, tidySchema } from './jsonSchema.ts';

/** What clients send: the schemas that the router reads bodies through. */
const REQUESTS = {
  ChatMessage: chatMessageSchema,
  MessageContent: messageContentSchema,
  ChatRequest: chatRequestSchema,
  CompletionRequest: completionRequestSchema,
  EmbeddingRequest: embeddingRequestSchema,
};

/** What clients get. */
const RESPONSES = {
  AccountRefused: accountRefusedSchema,
  BareError: bareErrorSchema,
  ChatChunk: chatChunkSchema,
  ChatCompletion: chatCompletionSchema,
  Embeddings: embeddingListSchema,
  ErrorEnvelope: errorEnvelopeSchema,
  FlatError: flatErrorSchema,
  InsufficientBalance: insufficientBalanceSchema,
  KeyInformation: keyInformationSchema,
  Model: modelEntrySchema,
  ModelList: modelListSchema,
  RegionNotServed: regionNotServedSchema,
  TextChunk: textChunkSchema,
  TextCompletion: textCompletionSchema,
  TokenUsage: tokenUsageSchema,
  ToolCall: toolCallSchema,
  UnknownModel: unknownModelSchema,
  UsageRecord: usageRecordSchema,
  UsageSummary: usageSummarySchema,
};

export type SchemaName = keyof typeof REQUESTS | keyof typeof RESPONSES;

export const refTo = (name: SchemaName): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Every schema of the document by its name, sorted: bodies of requests as they are sent, of answers as they are got. */
export function toJsonSchemas(): Record<string, JsonSchema> {
  const schemas = { ...convert(REQUESTS, 'input'), ...convert(RESPONSES, 'output') };
  return Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function convert(named: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io, uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, tidySchema(schema as JsonSchema)]));
}
