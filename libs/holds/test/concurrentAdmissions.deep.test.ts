import { testConcurrentAdmissions } from './testConcurrentAdmissions.ts';

testConcurrentAdmissions({ rounds: 1_000, races: 50 });
