import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { CONSOLE_APIS } from '@turnpike/console-api/consoleApi';
import { authApi } from '@turnpike/internal-api/auth';
import { catalogApi } from '@turnpike/internal-api/catalog';
import type { Caller, InternalRoute } from '@turnpike/internal-api/internalApi';
import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { listFlows } from '../src/flows.ts';
import { renderGeneratedFiles } from '../src/generatedFiles.ts';

it('has written what the code and the catalog say; if this fails: npm run manifests', async () => {
  const files = Object.entries(await renderGeneratedFiles());
  expect(files.length).toBeGreaterThan(10);
  for (const [file, text] of files)
    expect({ file, text: await readFile(join(repositoryRoot, file), 'utf8') }).toEqual({ file, text });
});

it('lets onto internal listeners exactly those that internal routes name as callers', () => {
  const asDeclared = [authApi, catalogApi, mediaJobsApi, modelRouterApi, usageLedgerApi].flatMap(
    ({ service, routes }) =>
      Object.values<InternalRoute>(routes).flatMap(({ callers }) =>
        // The operator comes through kubectl port-forward, which no policy sees.
        callers.filter((caller: Caller) => caller !== 'operator').map((caller) => `${caller} → ${service}`),
      ),
  );
  const ofConsole = CONSOLE_APIS.map(({ service }) => `edge → ${service}`);
  const asAllowed = listFlows('region')
    .filter(({ from, to, ports }) => from.kind === 'service' && to.kind === 'service' && ports[0]?.port === 9090)
    .map(({ from, to }) => `${from.name} → ${to.name}`);
  expect(asAllowed.sort()).toEqual([...new Set([...asDeclared, ...ofConsole])].sort());
});

it('lets nobody but the edge reach a public listener', () => {
  const callers = listFlows('region').filter(
    ({ to, ports }) => to.kind === 'service' && ports.some(({ port }) => port === 8080),
  );
  expect([...new Set(callers.map(({ from }) => from.name))]).toEqual(['edge']);
});
