/** How a person links the personal key of the variables, in words for the pages. */
import type { OwnKeyAccess } from '../credentials.ts'

export const ownKey: OwnKeyAccess = {
  fields: [],
  steps: [
    'Sign in to the SnapTrade Dashboard with the account that the key of this server belongs to.',
    'Connect your broker there.',
    'Come back and press the button: the key is set on this server already.',
  ],
  limits:
    'The key belongs to one person, who alone can link it. SnapTrade sends nothing here by itself with it: trades are read once a day, holdings when they are asked for.',
}
