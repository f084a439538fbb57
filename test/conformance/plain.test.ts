// One file, as its rows share one stack.
import './plain/accounts.ts';
import './plain/answers.ts';
import './plain/billing.ts';
import './plain/errors.ts';
