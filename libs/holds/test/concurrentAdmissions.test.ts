import { testConcurrentAdmissions } from './testConcurrentAdmissions.ts';

testConcurrentAdmissions({ rounds: 100, races: 10 });
