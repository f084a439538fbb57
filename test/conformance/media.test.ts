// One file, as its rows share one stack.
import './media/answers.ts';
import './media/billing.ts';
import './media/edges.ts';
import './media/errors.ts';
import './media/jobs.ts';
