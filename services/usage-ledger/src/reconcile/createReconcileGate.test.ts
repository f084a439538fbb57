import { expect, it } from '@jest/globals';
import type { WorkspaceReport } from './check.ts';
import { type AskedBooks, createReconcileGate } from './createReconcileGate.ts';

const aReport = (workspaceId: string): WorkspaceReport => ({ workspaceId, checks: [], doubts: [] });

const of = (workspaceId?: string, verifiesSeals = false): AskedBooks => ({ workspaceId, verifiesSeals });

/** A gate before a reconciliation that ends when it is told to. */
function openGate() {
  const asked: AskedBooks[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<WorkspaceReport[]>();
  const gate = createReconcileGate((books) => {
    asked.push(books);
    return asked.length === 1 ? promise : Promise.resolve([aReport('of the next run')]);
  });
  return { gate, asked, resolve, reject };
}

it('adds the books up once for all who ask for the same while it runs, and anew for who asks later', async () => {
  const { gate, asked, resolve } = openGate();
  const answers = Promise.all(Array.from({ length: 20 }, () => gate(of('ws_a'))));
  resolve([aReport('ws_a')]);
  expect(await answers).toEqual(Array(20).fill([aReport('ws_a')]));
  expect(asked).toEqual([of('ws_a')]);
  expect(await gate(of('ws_a'))).toEqual([aReport('of the next run')]);
});

it.each([[of('ws_b')], [of()], [of('ws_a', true)]])(
  'refuses other books (%j) while some are added up',
  async (other) => {
    const { gate, asked, resolve } = openGate();
    const first = gate(of('ws_a'));
    await expect(gate(other)).rejects.toMatchObject({ fault: { kind: 'reconciliation_running' } });
    resolve([]);
    await first;
    expect(await gate(other)).toEqual([aReport('of the next run')]);
    expect(asked).toEqual([of('ws_a'), other]);
  },
);

it('is free again after a run that failed', async () => {
  const { gate, reject } = openGate();
  const failed = expect(gate(of())).rejects.toThrow('no database');
  reject(new Error('no database'));
  await failed;
  expect(await gate(of('ws_a'))).toEqual([aReport('of the next run')]);
});
