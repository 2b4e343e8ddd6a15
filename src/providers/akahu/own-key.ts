/** How a person links their own Akahu app, in words for the pages. */
import type { OwnKeyAccess } from '../credentials.ts'

/** @param hasApp the token of an app is among the variables. */
export function describeOwnKey({ hasApp }: { readonly hasApp: boolean }): OwnKeyAccess {
  const appToken = { name: 'appToken', field: 'appToken', label: 'App token' } as const
  return {
    fields: [
      {
        name: 'userToken',
        field: 'userToken',
        label: 'User token',
        hint: 'It begins with user_token_',
      },
      hasApp
        ? { ...appToken, hint: 'Leave empty to use this server’s token', isOptional: true }
        : { ...appToken, hint: 'It begins with app_token_' },
    ],
    steps: [
      'Sign in at my.akahu.nz, connect your bank, and open Developers.',
      'Under Accounts there, tick the accounts that your app may see.',
      'Copy the two tokens that the page shows and paste them here.',
    ],
    limits:
      'With a personal app, Akahu reads your bank once a day and sends nothing here by itself: new rows are found by looking every few hours.',
  }
}
