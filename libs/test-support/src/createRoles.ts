import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** The addresses of one database for the two roles that a stack has for it. */
export interface RoleUrls {
  /** Owns the database: migrations run with it. */
  ownerUrl: string;
  /** The service's database address. Its role has no right to anything yet. */
  serviceUrl: string;
  serviceRole: string;
}

/** Makes the owner of a database and the service's role, as `npm start` does. */
export async function createRoles(superuserUrl: string): Promise<RoleUrls> {
  const database = new URL(superuserUrl).pathname.slice(1);
  const suffix = randomBytes(4).toString('hex');
  const [owner, serviceRole] = [`owner_${suffix}`, `service_${suffix}`];
  const superuser = new pg.Client({ connectionString: superuserUrl, connectionTimeoutMillis: 30_000 });
  await superuser.connect();
  for (const statement of [
    `CREATE ROLE ${owner} LOGIN`,
    `CREATE ROLE ${serviceRole} LOGIN`,
    `ALTER DATABASE ${database} OWNER TO ${owner}`,
    `REVOKE ALL ON DATABASE ${database} FROM PUBLIC`,
    `GRANT CONNECT ON DATABASE ${database} TO ${serviceRole}`,
  ])
    await superuser.query(statement);
  await superuser.end();
  const urlOf = (role: string): string => Object.assign(new URL(superuserUrl), { username: role }).href;
  return { ownerUrl: urlOf(owner), serviceUrl: urlOf(serviceRole), serviceRole };
}
