import type { Dialect } from '../terms/dialect.ts';
import { countTokens } from './countTokens.ts';
import { produceToken } from './produceToken.ts';
import { readReport } from './readReport.ts';
import { readServedModels, readVersion } from './readServedModels.ts';
import { sendTrial } from './sendTrial.ts';
import { toEngineBody } from './toEngineBody.ts';
import { toEngineFault } from './toEngineFault.ts';

/** Engines of vLLM, any release: the paths of calls are those of OpenAI, as the router's own are. */
export const vllm: Dialect = {
  pathOf: ({ path }) => path,
  toBody: toEngineBody,
  toFault: toEngineFault,
  readServed: readServedModels,
  readVersion,
  readReport,
  produceToken,
  sendTrial,
  countTokens,
};
