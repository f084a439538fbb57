import type { OutputPlan, Segment } from '../generation/outputPlan.ts';
import type { Fault } from './fault.ts';

/** What a choice says under a fault of the model: nothing, or only what it thinks. */
export function bendPlan(plan: OutputPlan, fault: Fault | undefined): OutputPlan {
  switch (fault?.kind) {
    case 'empty_completion':
      return { segments: [], finishReason: 'stop' };
    case 'only_reasoning':
      return { segments: plan.segments.map(toThought), finishReason: 'stop' };
    default:
      return plan;
  }
}

const toThought = ({ tokens }: Segment): Segment => ({ kind: 'reasoning', tokens });
