import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import type { RunningStack, StackOptions } from '@turnpike/local-stack/startStack';
import { startStackSomewhere } from '@turnpike/local-stack/startStackSomewhere';
import { mergeSettings } from '@turnpike/local-stack/toServiceEnvironments';
import { watchAnswers } from './openapi/watchAnswers.ts';
import { createOperator, type Operator } from './operator.ts';
import { PATIENT } from './patience.ts';

/** A whole stack of one test file: its own ports, data and secrets. What is of a region is of its first. */
export interface TestStack<Name extends Region = 'us'> {
  running: RunningStack<Name>;
  baseUrl: string;
  apiKey: string;
  /** The folder of all that the stack keeps. */
  stateDir: string;
  /** The stack's description, as the operator's command line reads it. */
  stackFile: string;
  operator: Operator;
  /** Streams that are open may end first, unless `hurry` is aborted. */
  stop(hurry?: AbortSignal): Promise<void>;
}

/**
 * Starts a stack as `npm start` does, in a temporary folder. Waits for nothing but the stack itself. Its answers are checked
 * against the published interface description.
 */
export async function startTestStack<Name extends Region = 'us'>(
  options: Pick<
    StackOptions<Name>,
    'regions' | 'kafka' | 'engines' | 'catalogFile' | 'observation' | 'serviceSettings' | 'openLink' | 'replicas'
  >,
): Promise<TestStack<Name>> {
  const stateDir = await mkdtemp(join(tmpdir(), 'turnpike-stack-'));
  // A failed start may still write files for a moment, and its own error is the one to report.
  const removeStateDir = () => rm(stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  try {
    const running = await startStackSomewhere({
      ...options,
      serviceSettings: mergeSettings(PATIENT, options.serviceSettings ?? {}),
      isScratch: true,
      stateDir,
    });
    const {
      base_url: baseUrl,
      api_key: apiKey,
      services,
    } = running.stack.regions[options.regions?.[0] ?? ('us' as Name)];
    watchAnswers(baseUrl);
    const secrets = JSON.parse(await readFile(join(stateDir, 'secrets.json'), 'utf8')) as {
      internalKeys: { operator: string };
    };
    return {
      running,
      baseUrl,
      apiKey,
      stateDir,
      stackFile: join(stateDir, 'stack.json'),
      operator: createOperator({ services, operatorKey: secrets.internalKeys.operator }),
      async stop(hurry) {
        await running.stop(hurry);
        await removeStateDir();
      },
    };
  } catch (error) {
    await removeStateDir();
    throw error;
  }
}
