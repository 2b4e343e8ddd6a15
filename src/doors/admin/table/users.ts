/** Rows of users, invitations and plans in the table of the admin API. */
import { z } from 'zod'
import { NewUserInput } from '#auth/create-user.ts'
import { PlanInput, planNames, planStatuses } from '#auth/set-plan.ts'
import { ProfileInput } from '#auth/set-profile.ts'
import { InvitationInput } from '#auth/sign-in/invite.ts'
import { PasswordInput } from '#auth/sign-in/set-password.ts'
import { maxPageRows, pageCursor, pageFields, pageRows } from '../paging.ts'
import { type AdminCall, body, list, pageOf, query, time } from './call.ts'

const subscription = {
  plan: z.enum(planNames),
  status: z.enum(planStatuses),
  legacyUntil: time.nullable(),
  grandfathered: z.boolean(),
}

const Subscription = z.strictObject(subscription).meta({
  id: 'Plan',
  description:
    'The plan as it was set. `legacyUntil` is the cut-off; access ends 14 days after it.',
})

const user = {
  id: z.uuid(),
  email: z.string(),
  name: z.string().nullable(),
  timezone: z.string().nullable(),
  ...subscription,
  createdAt: time,
  emailConfirmedAt: time.nullable(),
}

const User = z.strictObject(user).meta({
  id: 'User',
  description:
    'A user. `plan` and `status` are the effective ones: a user whose plan was never set has `DEFAULT_PLAN`, active; a plan that was set to `none` stays `none`.',
})

const standing = {
  lastSeenAt: time.nullable(),
  hasSecondFactor: z.boolean(),
  connections: z.strictObject({ active: z.int().min(0), broken: z.int().min(0) }),
}

const ListedUser = z
  .strictObject({
    ...user,
    ...standing,
  })
  .meta({
    id: 'ListedUser',
    description:
      'A user with what an operator looks for: when a browser that is signed in was last seen (null: none is), whether there is a second factor, and how many connections work or need their owner.',
  })

const UserDetails = z
  .strictObject({
    ...user,
    ...standing,
    hasPassword: z.boolean(),
    secondFactors: z.array(z.enum(['app', 'passkey'])),
    passkeys: z.int().min(0),
    recoveryCodesLeft: z.int().min(0),
  })
  .meta({ id: 'UserDetails', description: 'A user as listed, and how they sign in.' })

const NewUser = z
  .strictObject({
    id: z.uuid(),
    email: z.string(),
    timezone: z.string().nullable(),
    plan: z.enum(planNames),
  })
  .meta({ id: 'NewUser', description: 'The user that was made.' })

const Invitation = z
  .strictObject({ email: z.string(), url: z.string(), expiresAt: time })
  .meta({ id: 'Invitation', description: 'A link that makes one account with this address.' })

const OpenInvitation = z
  .strictObject({ email: z.string(), createdAt: time, expiresAt: time })
  .meta({ id: 'OpenInvitation', description: 'An invitation that can still be used.' })

const Reminder = z.strictObject({ broken: z.int().min(0), mailed: z.int().min(0) }).meta({
  id: 'Reminder',
  description: 'How many connections have to be reconnected, and how many mails were queued.',
})

const timezone = { value: 'Z', help: 'IANA time zone, e.g. Australia/Sydney' }

export const userCalls = {
  createUser: {
    route: 'POST /admin/users',
    command: 'users create',
    summary: 'make a user',
    description: 'With a password, one who can sign in. The operator vouches for the address.',
    input: body(NewUserInput, {
      email: { value: 'E', help: 'e-mail address' },
      password: { value: 'P', help: 'what they sign in with', isSecret: true },
      timezone,
      plan: { help: 'what they may use; DEFAULT_PLAN when absent' },
      status: { help: 'active when absent; needs --plan' },
    }),
    status: 201,
    reply: NewUser,
    errors: ['email_taken'],
    audit: ['users.create'],
  },
  listUsers: {
    route: 'GET /admin/users',
    command: 'users list',
    summary: 'list all users',
    description: 'The oldest first, 1,000 on a page unless `limit` says otherwise.',
    input: query(
      z.strictObject({ limit: pageRows(maxPageRows), cursor: pageCursor }),
      pageFields(maxPageRows),
    ),
    reply: pageOf(ListedUser),
  },
  showUser: {
    route: 'GET /admin/users/{user}',
    command: 'users show',
    summary: 'show one user',
    reply: UserDetails,
    errors: ['user_not_found'],
  },
  setPassword: {
    route: 'PUT /admin/users/{user}/password',
    command: 'users set-password',
    summary: 'set what a user signs in with, and end their sessions',
    description: 'It is stored as an argon2id hash and never shown.',
    input: body(PasswordInput, {
      password: { value: 'P', help: '10 to 256 characters', isSecret: true },
    }),
    reply: null,
    errors: ['user_not_found'],
    audit: ['users.set-password'],
  },
  setProfile: {
    route: 'PUT /admin/users/{user}/profile',
    command: 'users set-profile',
    summary: 'set the name and the time zone of a user; what is not given stays',
    input: body(ProfileInput, {
      name: { value: 'N', help: 'at most 100 characters; empty: no name' },
      timezone,
    }),
    reply: User,
    errors: ['user_not_found'],
    audit: ['account.set-name', 'account.set-timezone'],
  },
  resetSecondFactor: {
    route: 'DELETE /admin/users/{user}/second-factor',
    command: 'users reset-second-factor',
    summary: 'remove the second factor of a user who lost the app, passkeys and recovery codes',
    description: 'The app, all passkeys and the recovery codes. 204 also where there is none.',
    reply: null,
    errors: ['user_not_found'],
    audit: ['users.reset-second-factor'],
  },
  deleteUser: {
    route: 'DELETE /admin/users/{user}',
    command: 'users delete',
    summary: 'delete a user and all their data, and end their consents',
    description:
      'Keys and sessions end at once, consents at the providers that answer in time (`REQUEST_TIMEOUT_MS` in all); then all data is deleted. A provider that does not answer does not prevent the deletion: the log names the connection whose consent may still exist there.',
    reply: null,
    errors: ['user_not_found'],
    audit: ['users.delete'],
  },
  setPlan: {
    route: 'PUT /admin/users/{user}/plan',
    command: 'plans set',
    summary: 'set the plan of a user as a whole',
    description: 'Omitted fields are reset. The change takes effect with the next request.',
    input: body(PlanInput, {
      plan: { help: 'what they may use' },
      status: { help: 'state of the subscription' },
      legacyUntil: {
        value: 'ISO',
        help: 'cut-off of a legacy account; access ends 14 days after it',
      },
      grandfathered: { help: 'API access whatever the plan' },
    }),
    reply: Subscription,
    errors: ['user_not_found'],
    audit: ['plans.set'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>

export const invitationCalls = {
  inviteUser: {
    route: 'POST /admin/invitations',
    command: 'users invite',
    summary: 'ask somebody to make an account, by a link that is valid once',
    description:
      'The link is valid for seven days, where `SIGN_UP` is `invite` or `open`; it is mailed where `SMTP_URL` is set, and an earlier one stops working. At most 20 a day for one address.',
    input: body(InvitationInput, { email: { value: 'E', help: 'e-mail address' } }),
    status: 201,
    reply: Invitation,
    errors: ['email_taken', 'sign_up_closed'],
    audit: ['users.invite'],
  },
  listInvitations: {
    route: 'GET /admin/invitations',
    command: 'invitations list',
    summary: 'list the invitations that can still be used',
    description: 'The newest first, at most 1,000. The links themselves are not kept.',
    reply: list(OpenInvitation),
  },
  withdrawInvitation: {
    route: 'DELETE /admin/invitations/{email}',
    command: 'invitations withdraw',
    summary: 'make the invitation of an address useless',
    reply: null,
    errors: ['invitation_not_found'],
    audit: ['users.withdraw-invitation'],
  },
  remindUser: {
    route: 'POST /admin/users/{user}/reminder',
    command: 'users remind',
    summary: 'ask a user by mail to reconnect what is broken',
    description:
      'One mail for each connection whose consent has ended, once a day (UTC). Without `SMTP_URL`, and to an address that is not confirmed, nothing is mailed.',
    reply: Reminder,
    errors: ['user_not_found'],
    audit: ['users.remind'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>
