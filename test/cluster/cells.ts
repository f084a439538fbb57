import type { Cell } from './cell.ts';
import { account } from './cells/account.ts';
import { accountAway } from './cells/accountAway.ts';
import { hpa } from './cells/hpa.ts';
import { keda } from './cells/keda.ts';
import { linted } from './cells/linted.ts';
import { networkPolicy } from './cells/networkPolicy.ts';
import { nodeDrained } from './cells/nodeDrained.ts';
import { opsDay } from './cells/opsDay.ts';
import { podKilled } from './cells/podKilled.ts';
import { ready } from './cells/ready.ts';
import { restricted } from './cells/restricted.ts';
import { rolledBack } from './cells/rolledBack.ts';
import { rollingUpdate } from './cells/rollingUpdate.ts';
import { storesMoved } from './cells/storesMoved.ts';

/** Every cell there is, in the order in which they run: the first one needs no cluster, the second one starts it anew. */
export const CELLS: readonly Cell[] = [
  linted,
  ready,
  restricted,
  networkPolicy,
  account,
  accountAway,
  rollingUpdate,
  podKilled,
  hpa,
  keda,
  nodeDrained,
  opsDay,
  rolledBack,
  storesMoved,
];
