/** How a person links their own account at Up, in words for the pages. */
import type { OwnKeyAccess } from '../credentials.ts'

export const ownKey: OwnKeyAccess = {
  fields: [
    {
      name: 'upToken',
      field: 'token',
      label: 'Personal access token',
      hint: 'It begins with up:yeah:',
    },
  ],
  steps: [
    'Open the Up app and choose Data sharing, then Personal Access Token.',
    'Choose how long it lasts and generate it. A new token ends the one before.',
    'Copy the whole token and paste it here.',
  ],
  limits:
    'Up sends nothing here by itself with such a token: new rows are found by looking every few hours. A token is for its owner’s use only.',
}
