import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { StackError } from '@turnpike/local-stack/stackError';
import { parse } from 'yaml';
import { z } from 'zod';
import { KUBECONFIG } from './paths.ts';

const TIMEOUT_MS = 15_000;

const base64 = z.string().transform((content) => Buffer.from(content, 'base64'));
const kubeconfigSchema = z.object({
  clusters: z.tuple([z.object({ cluster: z.object({ server: z.url(), 'certificate-authority-data': base64 }) })]),
  users: z.tuple([z.object({ user: z.object({ 'client-certificate-data': base64, 'client-key-data': base64 }) })]),
});

/**
 * Returns the response of the Kubernetes API to a GET, such as `/api/v1/namespaces/turnpike-us/pods`. Use it for repeated requests,
 * because kubectl takes 0.2 s of CPU time each time. Throws a `StackError` on any status but 200.
 */
export async function readApi(path: string): Promise<unknown> {
  const { clusters, users } = kubeconfigSchema.parse(parse(await readFile(KUBECONFIG, 'utf8')));
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const { 'client-certificate-data': cert, 'client-key-data': key } = users[0].user;
  const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const call = request(`${server}${path}`, { ca, cert, key, timeout: TIMEOUT_MS }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode, body }), reject);
    });
    call.once('timeout', () => call.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    call.once('error', reject);
    call.end();
  }).catch((error: unknown) => {
    throw new StackError(`The Kubernetes API does not answer to ${path}: ${(error as Error).message}.`, {
      cause: error,
    });
  });
  if (status !== 200) throw new StackError(`The Kubernetes API answers ${status} to ${path}: ${body}`);
  return JSON.parse(body);
}
