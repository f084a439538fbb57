import { runMain } from '@turnpike/lifecycle/runMain';
import { runMigrate } from '@turnpike/migrations/runMigrate';

runMain(() => runMigrate('catalog', new URL('../prisma/migrations', import.meta.url)));
