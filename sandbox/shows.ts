/** What the magic users show at one provider: `magic-users.ts` joins the providers' tables. */

/** By the person's name; a name that is absent does not exist at the provider. */
export type Shows = Readonly<Record<string, string>>

/** How a text begins that shows its state only once the command was given. */
export const later = 'after the command'
