import {
  anyTranscriptionSchema,
  speechEventSchema,
  transcriptEventSchema,
  transcriptionSchema,
  verboseTranscriptionSchema,
} from '@turnpike/public-api/audioAnswer';
import { chatChunkSchema, chatCompletionSchema, toolCallSchema } from '@turnpike/public-api/chatAnswer';
import { chatMessageSchema, chatRequestSchema, messageContentSchema } from '@turnpike/public-api/chatRequest';
import { completionRequestSchema } from '@turnpike/public-api/completionRequest';
import { creditInformationSchema } from '@turnpike/public-api/creditInformation';
import { embeddingListSchema } from '@turnpike/public-api/embeddingList';
import { embeddingRequestSchema } from '@turnpike/public-api/embeddingRequest';
import {
  accountRefusedSchema,
  bareErrorSchema,
  errorEnvelopeSchema,
  flatErrorSchema,
  insufficientBalanceSchema,
  mediaBalanceSchema,
  noFormSchema,
  regionNotServedSchema,
  unknownModelSchema,
  uploadTooLargeSchema,
} from '@turnpike/public-api/errorBodies';
import { imageAnswerSchema, imageEventSchema } from '@turnpike/public-api/imageAnswer';
import { imageRequestSchema } from '@turnpike/public-api/imageRequest';
import { keyInformationSchema } from '@turnpike/public-api/keyInformation';
import { deletedJobSchema, mediaJobSchema, mediaUsageSchema } from '@turnpike/public-api/mediaJob';
import {
  messageEventSchema,
  messageSchema,
  messagesErrorSchema,
  tokenCountSchema,
} from '@turnpike/public-api/messagesAnswer';
import { countTokensRequestSchema, messagesRequestSchema } from '@turnpike/public-api/messagesRequest';
import { modelEntrySchema, modelListSchema } from '@turnpike/public-api/modelEntry';
import { responseEventSchema, responseItemSchema, responseSchema } from '@turnpike/public-api/responsesAnswer';
import { responsesRequestSchema } from '@turnpike/public-api/responsesRequest';
import { speechRequestSchema } from '@turnpike/public-api/speechRequest';
import { textChunkSchema, textCompletionSchema } from '@turnpike/public-api/textCompletion';
import { tokenUsageSchema } from '@turnpike/public-api/tokenUsage';
import { transcriptionRequestSchema, translationRequestSchema } from '@turnpike/public-api/transcriptionRequest';
import { usageRecordSchema } from '@turnpike/public-api/usageRecord';
import { usageSummarySchema } from '@turnpike/public-api/usageSummary';
import { videoListSchema, videoSchema } from '@turnpike/public-api/video';
import { videoRequestSchema } from '@turnpike/public-api/videoRequest';
import { z } from 'zod';
import { type JsonSchema, tidySchema } from './jsonSchema.ts';

/** Schemas of request bodies. */
const REQUESTS = {
  ChatMessage: chatMessageSchema,
  MessageContent: messageContentSchema,
  ChatRequest: chatRequestSchema,
  CompletionRequest: completionRequestSchema,
  CountTokensRequest: countTokensRequestSchema,
  EmbeddingRequest: embeddingRequestSchema,
  ImageRequest: imageRequestSchema,
  MessagesRequest: messagesRequestSchema,
  ResponsesRequest: responsesRequestSchema,
  SpeechRequest: speechRequestSchema,
  TranscriptionRequest: transcriptionRequestSchema,
  TranslationRequest: translationRequestSchema,
  VideoRequest: videoRequestSchema,
};

/** Schemas of responses. */
const RESPONSES = {
  AccountRefused: accountRefusedSchema,
  AnyTranscription: anyTranscriptionSchema,
  BareError: bareErrorSchema,
  ChatChunk: chatChunkSchema,
  ChatCompletion: chatCompletionSchema,
  DeletedJob: deletedJobSchema,
  Embeddings: embeddingListSchema,
  ErrorEnvelope: errorEnvelopeSchema,
  FlatError: flatErrorSchema,
  ImageEvent: imageEventSchema,
  Images: imageAnswerSchema,
  InsufficientBalance: insufficientBalanceSchema,
  KeyInformation: keyInformationSchema,
  CreditInformation: creditInformationSchema,
  MediaBalance: mediaBalanceSchema,
  MediaJob: mediaJobSchema,
  MediaUsage: mediaUsageSchema,
  Message: messageSchema,
  MessageEvent: messageEventSchema,
  MessagesError: messagesErrorSchema,
  Model: modelEntrySchema,
  ModelList: modelListSchema,
  NoForm: noFormSchema,
  RegionNotServed: regionNotServedSchema,
  Response: responseSchema,
  ResponseEvent: responseEventSchema,
  ResponseItem: responseItemSchema,
  SpeechEvent: speechEventSchema,
  TextChunk: textChunkSchema,
  TextCompletion: textCompletionSchema,
  TokenCount: tokenCountSchema,
  TokenUsage: tokenUsageSchema,
  ToolCall: toolCallSchema,
  TranscriptEvent: transcriptEventSchema,
  Transcription: transcriptionSchema,
  UnknownModel: unknownModelSchema,
  UploadTooLarge: uploadTooLargeSchema,
  UsageRecord: usageRecordSchema,
  UsageSummary: usageSummarySchema,
  VerboseTranscription: verboseTranscriptionSchema,
  Video: videoSchema,
  VideoList: videoListSchema,
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
