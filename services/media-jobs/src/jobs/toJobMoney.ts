import type { Region } from '@turnpike/config/region';
import type { Money } from '../money/openMoney.ts';
import { toMediaEvent } from '../money/toMediaEvent.ts';
import { fromHoldJson } from './owners/holdJson.ts';
import type { JobMoney } from './work/house.ts';

/** What jobs need of the money. */
export const toJobMoney = (
  { owner, holds, settleJob }: Pick<Money, 'owner' | 'holds' | 'settleJob'>,
  { region }: { region: Region },
): JobMoney => ({
  owner,
  toEvent(job, ending) {
    const { admittedAtMs } = fromHoldJson(job.hold);
    return toMediaEvent(job, ending, { region, isStream: false, admittedAtMs, endedAtMs: admittedAtMs });
  },
  settle: settleJob,
  settleAgain: (ended) => holds.settle(ended),
  isHeld: (callId) => holds.isHeld(callId),
  putBack: (given) => holds.putBack(given),
  release: (hold) => holds.release(hold),
});
