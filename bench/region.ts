import { readFile } from 'node:fs/promises';
import type { RunningStack } from '@turnpike/local-stack/startStack';
import { createOperator, type Operator } from '../test/support/operator.ts';

/** The operator of a stack's region. */
export async function operatorOf({ stack }: RunningStack): Promise<Operator> {
  const { services, secrets_file: secretsFile } = stack.regions.us;
  const { internalKeys } = JSON.parse(await readFile(secretsFile, 'utf8')) as { internalKeys: { operator: string } };
  return createOperator({ services, operatorKey: internalKeys.operator });
}

/** The process of one of a stack's stores; 0 of one that it does not have. */
export const storePid = ({ parts }: RunningStack, name: string): number =>
  parts.stores.find((part) => part.name === name)?.pid ?? 0;

export const portOf = (url: string): number => Number(new URL(url).port);
