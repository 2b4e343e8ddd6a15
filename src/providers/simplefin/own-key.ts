/** How a person links their own access to a SimpleFIN server, in words for the pages. */
import type { OwnKeyAccess } from '../credentials.ts'

export const ownKey: OwnKeyAccess = {
  fields: [
    {
      name: 'setupToken',
      field: 'setupToken',
      label: 'Setup token',
      hint: 'A long text of letters and digits; an access URL works too',
    },
  ],
  steps: [
    'Open the page of your SimpleFIN server (SimpleFIN Bridge: bridge.simplefin.org/simplefin/create) and connect your banks.',
    'Create a new app there, for this service alone. You get a setup token.',
    'Copy the whole token and paste it here. It works once.',
  ],
  limits:
    'The server reads each bank about once a day and allows 24 requests a day, so what is shown here may be an hour older than there.',
}
