import {
  getLlama,
  type Llama,
  type LlamaContextSequence,
  LlamaLogLevel,
  type LlamaModel,
  NoBinaryFoundError,
} from 'node-llama-cpp';
import { MAX_MODEL_LEN } from './model/tinyModel.ts';

/** Requests computed at once, each with a key-value cache of its own for a whole window. */
const SEQUENCES = 4;

/** llama.cpp with the model loaded. */
export interface LoadedLlama {
  llama: Llama;
  model: LlamaModel;
  sequences: LlamaContextSequence[];
  close(): Promise<void>;
}

/**
 * Loads the model file into llama.cpp. Rejects with one line where this platform's prebuilt llama.cpp is missing: it is
 * neither built nor downloaded here.
 */
export async function loadLlama(modelPath: string): Promise<LoadedLlama> {
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    // More would spin in wait for one another, which on two cores makes a token a thousand times slower.
    maxThreads: 1,
    logLevel: LlamaLogLevel.error,
  }).catch((error: unknown) => {
    throw error instanceof NoBinaryFoundError ? missingPlatformPackage(error) : error;
  });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ sequences: SEQUENCES, contextSize: MAX_MODEL_LEN, threads: 1 });
  const sequences = Array.from({ length: SEQUENCES }, () => context.getSequence());
  return { llama, model, sequences, close: () => llama.dispose() };
}

function missingPlatformPackage(cause: unknown): Error {
  const platform = `${process.platform}-${process.arch}`;
  return new Error(
    `tiny-engine cannot start: there is no llama.cpp here that this machine can load; it comes with the optional dependency @node-llama-cpp/${platform}`,
    { cause },
  );
}
