import type { RequestHandler } from 'express';
import { parseEmbeddingRequest } from '../request/embeddingRequest.ts';
import { createInference, type InferenceDependencies } from './createInference.ts';

const LIMIT_BYTES = 8 * 1_048_576;

/** POST /v1/embeddings. */
export const createEmbedding = (dependencies: InferenceDependencies): RequestHandler =>
  createInference(dependencies, {
    parse: parseEmbeddingRequest,
    limits: { maxBytes: LIMIT_BYTES, maxTextBytes: LIMIT_BYTES },
  });
