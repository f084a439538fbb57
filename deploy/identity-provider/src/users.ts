/** A user of the identity provider. */
export interface User {
  /** The subject of its ID tokens. */
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
}

export const USERS: readonly User[] = [
  { id: 'ada', name: 'Ada', email: 'ada@example.com', emailVerified: true },
  { id: 'ben', name: 'Ben', email: 'ben@example.com', emailVerified: false },
  { id: 'cleo', name: 'Cleo', email: 'cleo@example.com', emailVerified: true },
];

export const findUser = (id: string | null | undefined): User | undefined => USERS.find((user) => user.id === id);
