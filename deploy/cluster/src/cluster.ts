import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { relative } from 'node:path';
import { REGIONS, type Region, type Scope } from '@turnpike/config/region';
import { InternalCallError } from '@turnpike/internal-api/transport/createClient';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { SEEDED_CREDIT_USD, seedWorkspace } from '@turnpike/local-stack/seedWorkspace';
import { StackError } from '@turnpike/local-stack/stackError';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { checkRequirements } from './checkRequirements.ts';
import { type ClusterSecrets, loadClusterSecrets } from './clusterSecrets.ts';
import { applyObjects, deployScope } from './deployScope.ts';
import { type ClusterDescription, type ClusterRegion, describeCluster, writeClusterFile } from './describeCluster.ts';
import { ensureImages, type Image, loadImages } from './images.ts';
import { BIN, KUBECONFIG, namespaceOf, SCOPES, STACK_FILE } from './paths.ts';
import { runScript } from './runScript.ts';

/** Receives progress, a line at a time. */
export interface Output {
  print: (text: string) => void;
  heading: (text: string) => string;
}

/** A model of each region's catalog that answers chats. */
const MODEL = 'llama-3.3-70b-instruct';

/** How long it takes at most until the nodes let this machine in. */
const LET_IN_WITHIN_MS = 30_000;
const ANSWER_WITHIN_MS = 5_000;

const toSeconds = (durationMs: number): string => `${(durationMs / 1_000).toFixed(1)} s`;

/** Compiles the cluster and builds the images, where they are missing or older than what they are made of. */
export async function build({ print }: Output): Promise<Image[]> {
  await checkRequirements();
  await compile(print);
  return timed(print, 'images', () => ensureImages((line) => print(`    ${line}`)));
}

async function compile(print: Output['print']): Promise<void> {
  if (!existsSync(`${BIN}/metrics-server`)) print('  Compiling the cluster, once: some ten minutes on two cores.');
  await timed(print, 'compiled', () => runScript('build', { say: (line) => print(`    ${line}`) }));
}

/**
 * Starts the cluster with both regions and the account layer, or updates them. Resolves when every service is ready and
 * each region has a workspace with a key and credit. Prints each part that becomes ready, and finally the addresses.
 */
export async function bringUp({ print, heading, nodes }: Output & { nodes: number }): Promise<void> {
  const startedAt = performance.now();
  print(heading('Turnpike on Kubernetes: regions us and eu, and the account layer'));
  const images = await build({ print, heading });
  // First, as nodes begin with the images that are kept.
  await timed(print, 'images loaded', () => loadImages(images));
  await timed(print, 'cluster', () => runScript('up', { args: [String(nodes)], say: () => undefined }));

  const digests = new Map(images.map(({ name, digest }) => [name, digest]));
  const secrets = await loadClusterSecrets();
  await Promise.all(
    SCOPES.map(async (scope) => {
      const onReady = (name: string, tookMs: number): void => printReady(print, `${scope} ${name}`, tookMs);
      await deployScope(scope, { secrets, digests, onReady });
    }),
  );
  const described = await openCluster(secrets);
  print(`  Ready in ${toSeconds(performance.now() - startedAt)}.\n`);
  print(formatCluster(described, heading));
}

/**
 * Allows this machine to reach regions and an account layer that are ready. Gives each region a workspace with a key and credit. Writes
 * the file of the cluster. A second call changes nothing.
 */
export async function openCluster(secrets: ClusterSecrets): Promise<ClusterDescription> {
  await applyObjects(SCOPES.map(toMachinePolicy));
  const described = await describeCluster(secrets);
  const regions = REGIONS.map((region) => seedRegion(described.regions[region], secrets[region].internalKeys.operator));
  await Promise.all([...regions, untilAccountAnswers(described)]);
  await writeClusterFile(described);
  return described;
}

/** Gives a region a workspace with a key and credit. */
async function seedRegion({ services, api_key: apiKey }: ClusterRegion, operatorKey = ''): Promise<void> {
  const { auth, 'usage-ledger': ledger } = services;
  const seed = () =>
    seedWorkspace({
      auth: { url: auth.url, internalUrl: auth.internal_url },
      ledger: { url: ledger.url, internalUrl: ledger.internal_url },
      apiKey,
      operatorKey,
    });
  // The policy is in force on every node only seconds after it was taken: until then this machine is refused.
  const isSeeded = () => seed().then(() => true, ignoreNoAnswer);
  if (!(await waitFor(isSeeded, { timeoutMs: LET_IN_WITHIN_MS, intervalMs: 500 }))) await seed();
}

/** Throws a `StackError` if the account layer lets this machine in too late. */
async function untilAccountAnswers({ services }: ClusterDescription): Promise<void> {
  const url = `${services['control-plane'].url}/account/health`;
  const answers = () =>
    fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  if (!(await waitFor(answers, { timeoutMs: LET_IN_WITHIN_MS, intervalMs: 500 })))
    throw new StackError(`${url} does not answer within ${LET_IN_WITHIN_MS / 1_000} s.`);
}

function ignoreNoAnswer(error: unknown): undefined {
  if (!(error instanceof InternalCallError) || error.failure.kind === 'refused') throw error;
}

/** Ends the cluster. What was compiled and built stays, and so do the secrets. */
export async function takeDown({ print }: Output): Promise<void> {
  await checkRequirements();
  await timed(print, 'ended', () => runScript('down', { say: (line) => print(`    ${line}`) }));
  await rm(STACK_FILE, { force: true });
}

async function timed<Result>(print: Output['print'], name: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await work();
  printReady(print, name, performance.now() - startedAt);
  return result;
}

function printReady(print: Output['print'], name: string, tookMs: number): void {
  print(`  ${name.padEnd(22)} ready after ${toSeconds(tookMs)}`);
}

function formatCluster({ account, regions }: ClusterDescription, heading: Output['heading']): string {
  const kubectl = `${BIN}/kubectl --kubeconfig ${KUBECONFIG}`;
  return [
    ...REGIONS.flatMap((region) => {
      const { base_url: baseUrl, api_key: apiKey } = regions[region];
      return [
        heading(`Region ${region} (its key's workspace was given ${SEEDED_CREDIT_USD} USD)`),
        `  curl -N ${baseUrl}/chat/completions \\`,
        `    -H "Authorization: Bearer ${apiKey}" -H "Content-Type: application/json" \\`,
        `    -d '{"model": "${MODEL}", "stream": true, "messages": [{"role": "user", "content": "Hello!"}]}'`,
        `  npm run -s turnpike -- status --stack ${relative(repositoryRoot, STACK_FILE)} --region ${region}`,
        `  ${kubectl} -n turnpike-${region} get pods`,
        '',
      ];
    }),
    heading(`Account layer, at ${account.origin} once these run; mails at ${account.mail_catcher_url}`),
    `  ${kubectl} -n ${namespaceOf('global')} port-forward service/control-plane 8106:8080`,
    ...REGIONS.map((region) => `  ${kubectl} -n ${namespaceOf(region)} port-forward service/edge ${FORWARDS[region]}`),
    '',
    '  "npm run cluster -- test" tries it, "npm run cluster -- down" ends it.',
  ].join('\n');
}

/** The ports of a region's edge, API and console host, at the addresses that the account layer lists to browsers. */
const FORWARDS: Record<Region, string> = { us: '8080:8080 8107:8081', eu: '8081:8080 8108:8081' };

/** The bridge of this machine and its nodes. */
const MACHINE = '10.213.0.0/24';

/**
 * Admits this machine, which is no pod, to every pod of a scope: the clients, the operator and the tests run here. The manifests
 * decide about connections between pods.
 */
const toMachinePolicy = (scope: Scope): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'this-machine', namespace: namespaceOf(scope) },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock: { cidr: MACHINE } }] }] },
});
