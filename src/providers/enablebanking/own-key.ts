/** How a person links with an application of their own, in words for the pages. */
import type { OwnKeyAccess } from '../credentials.ts'
import { enablebankingFacts } from './facts.ts'

const { applicationId, privateKey } = enablebankingFacts.linkFields

export const ownKey: OwnKeyAccess = {
  fields: [
    { field: 'applicationId', ...applicationId.onPage },
    { field: 'privateKey', ...privateKey.onPage },
  ],
  leadsToPage: true,
  steps: [
    'Sign in at enablebanking.com, open API applications, and add a production application with the redirect URL of this server, exactly as it stands below.',
    'Choose “Activate by linking accounts” there and link your accounts. You get a file with the private key, named after the application id.',
    'Paste the application id and the whole text of that file here. Then you choose your bank.',
  ],
  limits:
    'An application of your own is free and sees only the accounts that you linked there. Banks allow about four unattended reads a day, so what is shown here may be six hours older than at the bank.',
}
