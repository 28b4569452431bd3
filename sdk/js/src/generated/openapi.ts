// Generated from docs/reference/openapi.json by `npm run generate`. Do not edit.

export interface paths {
    readonly "/api/apps": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Apps by name, with their settings and figures, page by page. */
        readonly get: operations["list_apps"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One app with its figures. */
        readonly get: operations["find_app"];
        /** Makes an app known, or changes its settings. Fields left out stay; a new app has the defaults. */
        readonly put: operations["declare_app"];
        readonly post?: never;
        /** Forgets an app with all its devices, pushes and schedules. `default` stays: `PSH-009`. */
        readonly delete: operations["drop_app"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/audiences": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The saved audiences of an app, by name. */
        readonly get: operations["list_audiences"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/audiences/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Saves a selector under a name; one that was there is replaced. Pushes that have started keep the one that they had. */
        readonly put: operations["save_audience"];
        readonly post?: never;
        /** Forgets a saved audience. */
        readonly delete: operations["drop_audience"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/audiences/preview": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Counts the devices that an audience reaches, and those that each clause leaves out. */
        readonly post: operations["preview_audience"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Registered devices by id, page by page.
         * @description With `search` or `state` up to 20,000 devices after `after` are looked through: a page may have
         *     fewer devices than `limit`, or none, while `next` leads on.
         */
        readonly get: operations["list_registered_devices"];
        readonly put?: never;
        /** Registers up to 1,000 devices or changes them, each with an outcome of its own. */
        readonly post: operations["change_registered_devices"];
        /**
         * Forgets up to 1,000 registered devices that match, with what they are owed, and closes their
         *     connections. A fleet is removed in several requests: each gives the `next` of the one before as
         *     `after`, until there is none. One that was cut off is sent again: a removed device is not
         *     counted twice.
         */
        readonly delete: operations["remove_registered_devices"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One device: what is registered, where it is connected, what it is owed, and its newest pushes. */
        readonly get: operations["find_registered_device"];
        /**
         * Registers a device, or makes it equal to the body: fields that the body leaves out are cleared.
         *     Lists, and whether it is opted in, stay.
         */
        readonly put: operations["replace_registered_device"];
        readonly post?: never;
        /** Forgets a device with what it is owed, and closes its connection. */
        readonly delete: operations["remove_registered_device"];
        readonly options?: never;
        readonly head?: never;
        /** Changes a device. Fields that are left out stay, `null` clears. */
        readonly patch: operations["change_registered_device"];
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}/credential": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Makes a secret for a device: its MQTT password from now on. One that it had does not work any more. */
        readonly post: operations["issue_credential"];
        /** Takes a device's credential away and closes its connection. Other ways to log in are not touched: to keep it out, revoke it. */
        readonly delete: operations["withdraw_credential"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}/restore": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Lets a revoked device connect again. */
        readonly post: operations["restore_device"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}/revoke": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Keeps a device out: its connection is closed now, and it gets no other one and no push until it is restored. */
        readonly post: operations["revoke_device"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}/token": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Makes a short-lived token with which a device acts for itself. Nothing is stored: it counts
         *     until its expiry, unless the device is revoked.
         */
        readonly post: operations["issue_device_token"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}/webpush": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The numbers of a device's Web Push subscriptions. */
        readonly get: operations["list_webpush"];
        readonly put?: never;
        /** Makes an endpoint that applications push to by Web Push (RFC 8030), for a device that is registered. */
        readonly post: operations["subscribe_webpush"];
        /** Ends all Web Push subscriptions of a device: their endpoints answer 410. */
        readonly delete: operations["unsubscribe_webpush_all"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/{device}/webpush/{subscription}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Ends a Web Push subscription: its endpoint answers 410. */
        readonly delete: operations["unsubscribe_webpush"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/export": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * All devices, or those of an audience, as a file however long.
         * @description A file that breaks off ends the connection early. CSV has a column for each attribute and type that devices have.
         */
        readonly get: operations["export_devices"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/devices/import": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Registers all devices of a file, however long, or changes those that are known.
         * @description CSV has a heading: `device` and any of `platform`, `app_version`, `language`, `country`, `time_zone`, `named_user`, `opt_in`, `quiet_hours`
         *     (`22:00-07:00`), `latitude`, `longitude`, `tags` and `lists` (apart by `;`), `text:NAME`, `number:NAME`, `date:NAME`; an empty cell leaves what is known.
         *     NDJSON has on each line what `POST /api/apps/{app}/devices` has of a device. A record that is
         *     wrong is skipped and reported.
         */
        readonly post: operations["import_devices"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/lists/{name}/devices": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Puts up to 1,000 registered devices onto a static list; those that are on it stay. */
        readonly put: operations["add_to_list"];
        readonly post?: never;
        /** Takes up to 1,000 devices off a static list. */
        readonly delete: operations["remove_from_list"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The pushes of an app, newest first, page by page.
         * @description With `search` or `status` the newest 10,000 pushes from `before` on are looked through: a page may
         *     have fewer pushes than `limit`, or none, while `next` leads on.
         */
        readonly get: operations["list_platform_pushes"];
        readonly put?: never;
        /**
         * Hands a push over.
         * @description 202: it is on disk, or with `live` under way, and `url` shows its progress. 200 with
         *     `duplicate`: it was accepted before, nothing happened now. With `dry_run=true` nothing is
         *     pushed: 200 means that it would be accepted, and has the devices that it would reach now and
         *     those that it would leave out for which reason; `warning` is set where it would reach nobody.
         */
        readonly post: operations["send_push"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One push: what was asked for, how far it has come, and what happened when. */
        readonly get: operations["find_platform_push"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        /** Changes a push that has not started. Fields that are left out stay. */
        readonly patch: operations["edit_push"];
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Ends a push: devices that have not got it yet never do. A delivery on its way may still arrive. */
        readonly post: operations["cancel_push"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}/clicked": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Notes that the user of a device clicked a push, or an action of it. Counts as opened too. The
         *     first click of a device counts; a further one changes nothing, whatever its action.
         */
        readonly post: operations["push_clicked"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}/deliveries": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** What became of a push for each device that it was for: a page of them, or all as a file. */
        readonly get: operations["list_deliveries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}/devices/{device}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Why a device did or did not get a push: the answer in a sentence, and what happened. */
        readonly get: operations["trace_push"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}/live": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * How a push goes on.
         * @description Server-sent events: `push` twice a second while something changes, the last one when it is settled or cancelled; then the
         *     stream ends.
         */
        readonly get: operations["live_push"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/pushes/{push}/opened": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Notes that the user of a device opened a push. Once is enough, and again changes nothing. */
        readonly post: operations["push_opened"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/schedules": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The schedules of an app, each with its next occurrences and the last ones. */
        readonly get: operations["list_push_schedules"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/schedules/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Makes a push at each occurrence of a cron expression. The same name replaces the schedule. */
        readonly put: operations["set_push_schedule"];
        readonly post?: never;
        /** Ends a schedule; pushes that it made stay. */
        readonly delete: operations["end_push_schedule"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/schedules/{name}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Holds a schedule: it makes nothing until it is resumed, and occurrences meanwhile are skipped. */
        readonly post: operations["pause_push_schedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/apps/{app}/schedules/{name}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Lets a paused schedule go on. */
        readonly post: operations["resume_push_schedule"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/assets": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * All assets by name, with what all accounts of each hold together.
         * @description For each asset `credit` is `debit`: all that is in one account came out of another.
         */
        readonly get: operations["list_assets"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/assets/{asset}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Makes an asset known, or finds it known: the same again is fine, another scale is `WAL-031`. */
        readonly put: operations["declare_asset"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Changes that were made over the API and logins that were refused, newest first.
         * @description Jobs, leases and transfers are not in it: queues and wallets keep histories of their own. Of a
         *     key's changes in a second, those beyond 100 are counted by route.
         */
        readonly get: operations["list_audit"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/cluster": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The cluster as this node knows it: nodes, moves, drains and links.
         * @description `cluster` is null on a standalone server.
         */
        readonly get: operations["cluster"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/cluster/shards": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The shards of the cluster by number: owners, standbys, and what is wrong.
         * @description How far a standby is behind is known of the standbys of the node that answers.
         */
        readonly get: operations["list_cluster_shards"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/configuration": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Each setting in force, and the place that it comes from. */
        readonly get: operations["configuration"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/devices": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Devices with a connection or a session, in order of their ids. */
        readonly get: operations["list_devices"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/devices/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One device with its subscriptions. */
        readonly get: operations["find_device"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/devices/{id}/connection": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Closes a device's connection. Its session stays, and it may connect again. */
        readonly delete: operations["disconnect_device"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/erasures": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The erasures, newest first, those under way before all others; and the key that signs receipts. */
        readonly get: operations["list_erasures"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/erasures/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The progress of an erasure; its receipt once it has finished. */
        readonly get: operations["find_erasure"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/erasures/nodes/{node}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /**
         * Takes a node out of the cluster's list of nodes with sessions: erasures no longer wait for it.
         * @description For nodes whose data is lost, or that never come back. Such a node refuses to start with the
         *     sessions that it had.
         */
        readonly delete: operations["forget_session_node"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/history": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The fleet over the last hour or the last day.
         * @description `hour` has a point every 10 seconds, `day` one every minute. They are kept in this process: a
         *     restart begins anew.
         */
        readonly get: operations["history"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/jobs/{job}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One job as it stands, with its payload. */
        readonly get: operations["find_job"];
        readonly put?: never;
        readonly post?: never;
        /** Takes a job out, whatever its state; a worker that has it loses its lease. */
        readonly delete: operations["delete_job"];
        readonly options?: never;
        readonly head?: never;
        /** Changes a job that nobody works on: payload, due time, priority, time to live, attempts. */
        readonly patch: operations["edit_job"];
        readonly trace?: never;
    };
    readonly "/api/jobs/{job}/history": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** What became of a job: every attempt, worker and error, the newest first. Also for a while after it is done. */
        readonly get: operations["job_history"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/jobs/delete": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Takes several jobs out; each has its own outcome. */
        readonly post: operations["delete_jobs"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The API keys, without their secrets. */
        readonly get: operations["list_keys"];
        readonly put?: never;
        /** Makes a key. Its secret is in this answer and nowhere else. */
        readonly post: operations["create_key"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/keys/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Takes a key away; it stops working at once. */
        readonly delete: operations["revoke_key"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/keys/{id}/explain": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whether a key may do something, and the grant that decides. */
        readonly get: operations["explain_key"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/keys/{id}/rotate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Gives a key another secret. The one before works for a time still, so that its users can change. */
        readonly post: operations["rotate_key"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/{lease}/bury": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Sets the job aside until somebody kicks it: it is wrong, and another attempt would not help. */
        readonly post: operations["bury_lease"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/{lease}/extend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** The worker needs longer: the lease ends `lease_ms` from now. */
        readonly post: operations["extend_lease"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/{lease}/forward": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** The job is done here and becomes a new one in another queue, in one step: it is always in exactly one of them. */
        readonly post: operations["forward_lease"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/{lease}/release": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * The job is not done, and is to be tried again: after the queue's back-off, or after `delay_ms`.
         * @description `dead` means that it was its last attempt.
         */
        readonly post: operations["release_lease"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/{lease}/settle": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * The job is done.
         * @description Settling again what was settled answers `already`.
         */
        readonly post: operations["settle_lease"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/bury": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Sets several jobs aside; each lease has its own outcome. */
        readonly post: operations["bury_leases"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/extend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Several leases end later; each has its own outcome. */
        readonly post: operations["extend_leases"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/release": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Several jobs are to be tried again; each lease has its own outcome. */
        readonly post: operations["release_leases"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/leases/settle": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Several jobs are done; each lease has its own outcome. */
        readonly post: operations["settle_leases"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/live": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What the fleet does, as it happens.
         * @description Server-sent events: `history` once (two minutes of points), then `sample` each second, and
         *     `push` whenever the newest push came further. A slow reader misses events and gets later ones.
         */
        readonly get: operations["live"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/live/queues": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The queues as they were at most two seconds ago, with rates and their last two minutes. */
        readonly get: operations["live_queues"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/live/wallets": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Totals by asset, who moved most in the last five minutes, and the newest seals. */
        readonly get: operations["live_wallets"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/me/clicked": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Notes that the device's user clicked a push that it was sent, or an action of it. Counts as
         *     opened too. The first click counts; a further one changes nothing, whatever its action.
         */
        readonly post: operations["own_push_clicked"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/me/device": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The device: its tags, its attributes, and whether it is opted in. */
        readonly get: operations["show_own_device"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        /**
         * Changes the device: all of the body, or nothing where the app does not let devices change a part
         *     of it.
         */
        readonly patch: operations["change_own_device"];
        readonly trace?: never;
    };
    readonly "/api/me/inbox": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The pushes that the device is owed, with their contents, those on their way over MQTT included.
         *     Reading settles nothing.
         */
        readonly get: operations["show_own_inbox"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/me/inbox/settle": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Settles pushes of the inbox: they count as delivered, and do not come over MQTT any more, unless
         *     they are on their way already. The same again changes nothing.
         */
        readonly post: operations["settle_own_inbox"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/me/opened": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Notes that the device's user opened a push that it was sent. Once is enough, and again changes
         *     nothing.
         */
        readonly post: operations["own_push_opened"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/node": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** This process: its version, listeners, loops, memory and shards. */
        readonly get: operations["node"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/publish": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Publishes a message to a topic.
         * @description 200: it is owed to all who subscribed, durably where their sessions persist, and retained where
         *     that was asked for. 503: nobody got it, try again after `Retry-After`. 4xx: nobody ever will.
         *     504: somebody may have got it. With the header `Idempotency-Key` a repeated request gets the
         *     first answer and publishes nothing.
         */
        readonly post: operations["publish"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/publish/batch": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Publishes up to 100 messages in order.
         * @description The batch is taken by the server or refused as a whole; each message then has a result of its
         *     own. With the header `Idempotency-Key` a repeated request of which all messages were accepted
         *     publishes nothing.
         */
        readonly post: operations["publish_batch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/publish/raw": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Publishes a body as it is: for `curl --data-binary`, webhooks, and bytes of any kind.
         * @description The answers are those of `POST /api/publish`. The request's content type is the message's.
         */
        readonly post: operations["publish_raw"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/push": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Hands a push over.
         * @description 202: the server owns it now, and `url` shows how far it has come. 503: it does not, try again after `Retry-After`. 4xx:
         *     it never will. 504: it may own it. With the header `Idempotency-Key` a repeated request gets the first answer and pushes nothing.
         */
        readonly post: operations["push"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/pushes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The newest pushes. */
        readonly get: operations["list_pushes"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/pushes/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** How far a push has come. */
        readonly get: operations["find_push"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The queues by name, with their figures.
         * @description With `search` a page may hold fewer queues than `limit`, even none, and still have a `next`: 10,000 queues are looked
         *     at for one page.
         */
        readonly get: operations["list_queues"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** A queue's figures and settings. */
        readonly get: operations["find_queue"];
        /**
         * Makes a queue, or gives one these settings; settings that are left out get their defaults.
         * @description A queue that is put into without being made has the defaults.
         */
        readonly put: operations["declare_queue"];
        readonly post?: never;
        /** Takes a queue away with its schedules; refused while it holds jobs. */
        readonly delete: operations["drop_queue"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/jobs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * A queue's jobs with their payloads, without touching them.
         * @description Of one state the oldest due are first; of all, jobs that are due come first, then reserved, delayed, buried and dead ones.
         */
        readonly get: operations["peek_jobs"];
        readonly put?: never;
        /**
         * Puts a job, or several under `jobs`: all of them or none.
         * @description 201: the jobs are on disk. Makes the queue, with the usual settings, where there is none. With the header
         *     `Idempotency-Key` or with a `dedup_id` a repeated request puts nothing and answers the first jobs' ids with 200.
         */
        readonly post: operations["put_jobs"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/kick": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Buried jobs are due again, and their attempts start anew. */
        readonly post: operations["kick_jobs"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Hands nothing out until the queue is resumed; puts go on. */
        readonly post: operations["pause_queue"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/purge": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Takes all jobs in one state out of a queue, or all but reserved ones. */
        readonly post: operations["purge_queue"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/redrive": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Dead jobs are due again, here or in another queue, and their attempts start anew. */
        readonly post: operations["redrive_jobs"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/reserve": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Reserves jobs that are due, for a worker.
         * @description With `wait_ms` it waits for a first job where none is due. No jobs is an answer, not an error. The answer waits until
         *     the reservation is on disk; a client that is gone by then gives its jobs back.
         */
        readonly post: operations["reserve_jobs"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Hands jobs out again. */
        readonly post: operations["resume_queue"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/schedules": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The schedules of a queue, by name. */
        readonly get: operations["list_schedules"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/queues/{queue}/schedules/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Puts a job at each occurrence of a cron expression. The same name replaces the schedule. */
        readonly put: operations["set_schedule"];
        readonly post?: never;
        /** Ends a schedule; jobs that it put stay. */
        readonly delete: operations["end_schedule"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/retained": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Retained messages in order of their topics, without their payloads. */
        readonly get: operations["list_retained_messages"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Removes up to 1,000 retained messages that match; subscribers are sent nothing. A large store is
         *     emptied in several requests: each gives the `next` of the one before as `from`, until there is
         *     none. One that was cut off is sent again: a removed message is not counted twice.
         */
        readonly delete: operations["purge_retained_messages"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/rules": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The rules over topics that are in force, with their `ETag`. */
        readonly get: operations["rules"];
        /**
         * Replaces the rules over topics as a whole. They are on disk and in force when this answers:
         *     subscriptions that they deny end. A body of `application/toml` is the text of a rules file, and
         *     is kept with its comments.
         */
        readonly put: operations["set_rules"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/services": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The services of this process, their methods, and how other services are found. */
        readonly get: operations["services"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/together": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Books transfers, puts jobs and makes pushes in one record: all of it or none.
         * @description The transfers are linked, and their accounts, but for system wallets, live on one shard (`WAL-033`). A repeated request with the same
         *     transfers books, puts and pushes nothing again. A push is made right after the record is on disk, at least once.
         */
        readonly post: operations["together"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/topics/stream": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Messages of topics, as they are published.
         * @description Server-sent events: `subscribed` once, then each message (the data is a `StreamedMessage`),
         *     retained ones first. `gap` means that messages may be missing here, and why. `end` is the last
         *     event, with its reason. A stream that begins with the header `Last-Event-ID` (or the parameter
         *     `last_event_id`) of an earlier one goes on where that ended, for as long as the server
         *     remembers, or begins with a `gap`. A browser's EventSource sends no key: it gives a `ticket`.
         */
        readonly get: operations["stream_topics"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/topics/tickets": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Makes a ticket that opens streams of these topics, for a web page.
         * @description Nothing is stored: it counts until its expiry, unless the key that asked for it is revoked
         *     before. It may be used several times: a browser that lost its connection opens the same URL
         *     again.
         */
        readonly post: operations["issue_topic_ticket"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/trace": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What a device and the server send to each other, as it happens.
         * @description Server-sent events: `packet` for each packet of the device, or for each message whose topic the
         *     filter matches; the first one means that the trace is in force. Payloads and passwords are never
         *     shown. A slow reader misses lines and gets their number. A trace lasts an hour at most.
         */
        readonly get: operations["trace"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/transfers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Books a transfer: moves an amount, holds it, or ends a hold.
         * @description 201: it is on disk. 200 with `duplicate`: it had been, nothing happened now. 409: `WAL-023` there is less available,
         *     `WAL-024` the ceiling, `WAL-025` the account is closed. The id is the body's, or made of the header `Idempotency-Key`: a UUID
         *     is the id itself, any other key is hashed to one of the caller's own.
         */
        readonly post: operations["transfer"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/transfers/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One transfer, as long as its id is remembered; older ones are in the histories of their accounts. */
        readonly get: operations["find_transfer"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/transfers/{id}/capture": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Moves what is held, or a part of it, and ends the hold; the rest is available again.
         * @description It is a transfer with an id of its own, answered as `POST /api/transfers` is.
         */
        readonly post: operations["capture_hold"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/transfers/{id}/reverse": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Moves all of a posted or captured transfer back, as a new transfer; `WAL-023` where the one who got it has it no more. */
        readonly post: operations["reverse_transfer"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/transfers/{id}/void": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Gives what is held back to its owner and ends the hold. */
        readonly post: operations["void_hold"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/transfers/batch": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Books up to 1,000 transfers, each with an outcome of its own; with `linked` all of them or none.
         * @description Without `linked` those that one shard decides are booked in their order; of other shards' each may come first or last.
         *     A linked list that is refused is `WAL-032`, and the detail names the transfer that is to blame.
         *     Ids that the transfers lack are made of the header `Idempotency-Key` and each one's place.
         */
        readonly post: operations["transfer_batch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/users/{user}/erase": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Erases a named user: removes devices with their credentials, sessions, retained messages and
         *     jobs, and closes wallets. What must stay, such as the books, is in the receipt with the reason.
         * @description The erasure is on disk when this is answered, and goes on behind the answer, also after a crash:
         *     see `Location`. A user whose erasure is under way is not erased twice. Accounts that are not
         *     empty refuse it (`ERA-001`) unless `balances=keep`.
         */
        readonly post: operations["erase_user"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/users/{user}/export": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Everything that the server or its cluster has of a named user, as one JSON document.
         * @description Devices, pushes with the trace of each delivery, sessions with their messages, retained
         *     messages, jobs, accounts with holds and entries, lines of the audit log. Its last field is
         *     `complete`: a document without it broke off.
         */
        readonly get: operations["export_user"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Accounts by wallet and asset, page by page. */
        readonly get: operations["list_accounts"];
        readonly put?: never;
        /**
         * Opens an account, or several under `accounts`, each with an outcome of its own.
         * @description The same again is fine. System wallets' accounts, `@...`, open by themselves when something is booked on them.
         */
        readonly post: operations["open_accounts"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets/{wallet}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * A wallet's accounts with what they have. Of a system wallet the sums over all shards.
         * @description A wallet without accounts is `WAL-021`. One whose name is `roots` is read under `/api/wallets/%72oots`.
         */
        readonly get: operations["find_wallet"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets/{wallet}/{asset}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One account: what it has, and its rules. */
        readonly get: operations["find_account"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        /** Changes an account's rules, closes it, or opens it again. Fields that are left out stay. */
        readonly patch: operations["change_account"];
        readonly trace?: never;
    };
    readonly "/api/wallets/{wallet}/{asset}/balance": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The balance of an account, now or at a time in the past.
         * @description Of the past only `posted` is known, by the time at which each transfer was booked.
         */
        readonly get: operations["account_balance"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets/{wallet}/{asset}/history": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** An account's history, newest first. */
        readonly get: operations["account_history"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets/{wallet}/{asset}/statement": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * All entries of an account as a file, newest first, however long.
         * @description CSV has a heading and amounts as decimals, negative where they went out. JSON is one object that ends with `entry_count`.
         *     A statement that breaks off ends the connection early.
         */
        readonly get: operations["account_statement"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets/{wallet}/holds": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The open holds of a wallet, oldest first. */
        readonly get: operations["list_holds"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/wallets/roots": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The roots of the shards' hash chains, each shard's oldest first.
         * @description With a kept one anybody can check with a receipt that a transfer stands in the books, without
         *     this server.
         */
        readonly get: operations["list_roots"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/healthz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whether the process answers at all. Needs no key. */
        readonly get: operations["health"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/metrics": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Every counter, gauge and histogram, for Prometheus.
         * @description In its text format 0.0.4; in that of OpenMetrics 1.0 for those whose `Accept` prefers `application/openmetrics-text`.
         */
        readonly get: operations["metrics"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/readyz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whether new work should be sent here. Needs no key. */
        readonly get: operations["readiness"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/wp/{token}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whether pushes can be sent there: what UnifiedPush asks of an endpoint. */
        readonly get: operations["discover_webpush"];
        readonly put?: never;
        /**
         * Pushes a message to a device (RFC 8030, 5). Headers: `TTL` (needed), `Urgency`, `Topic`, `Content-Encoding`, `Prefer: respond-async`, and
         *     VAPID's `Authorization`.
         */
        readonly post: operations["send_webpush"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/wp/m/{token}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** What became of a message: its receipt. `Prefer: wait=SECONDS` waits until it is known, 20 seconds at most. */
        readonly get: operations["webpush_receipt"];
        readonly put?: never;
        readonly post?: never;
        /** Takes a message back that is not delivered yet. */
        readonly delete: operations["cancel_webpush"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A push that was taken over. */
        readonly AcceptedPush: {
            /**
             * @description The push.
             * @example 0190a1b2c3d47e5f8a9b0c1d2e3f4a5b
             */
            readonly id: string;
            /**
             * @description Always `accepted`: the server owns it now.
             * @example accepted
             */
            readonly status: string;
            /**
             * @description Where to see how far it has come.
             * @example /api/pushes/0190a1b2c3d47e5f8a9b0c1d2e3f4a5b
             */
            readonly url: string;
        };
        /** @description A push that was taken over. */
        readonly AcceptedPushReport: {
            /** @description Whether the same push was accepted before: nothing happened now. */
            readonly duplicate: boolean;
            /**
             * @description The push.
             * @example 0190a1b2c3d47e5f8a9b0c1d2e3f4a5b
             */
            readonly id: string;
            readonly preview?: components["schemas"]["PreviewReport"] | null;
            readonly rendered?: components["schemas"]["RenderedReport"] | null;
            /**
             * @description `accepted`: it is on disk, or a live push is under way. With `dry_run`: `valid`, and nothing
             *     happened.
             */
            readonly status: string;
            /** @description Where to see how far it has come. */
            readonly url: string;
        };
        /** @description An account to be opened. */
        readonly AccountFields: {
            /** @description Which asset; it must be known. */
            readonly asset: components["schemas"]["AssetCode"];
            readonly ceiling?: components["schemas"]["AmountField"] | null;
            readonly overdraft?: components["schemas"]["OverdraftWord"] | null;
            /**
             * @description Letters, digits and `-_.:@{}`, at most 64 bytes. Wallets with the same part in braces live together. One that begins
             *     with `@` is a system wallet, whose accounts open by themselves.
             */
            readonly wallet: components["schemas"]["WalletName"];
        };
        /** @description A page of accounts, by wallet and asset. */
        readonly AccountPage: {
            readonly accounts: readonly components["schemas"]["AccountReport"][];
            /**
             * @description `after` of the next page; none on the last one.
             * @example alice/EUR
             */
            readonly next?: string | null;
        };
        /** @description An account as it stands. */
        readonly AccountReport: {
            /**
             * @description Of what.
             * @example EUR
             */
            readonly asset: string;
            /** @description What can be spent: `posted` less `held`. */
            readonly available: components["schemas"]["Amount"];
            readonly ceiling?: components["schemas"]["Amount"] | null;
            /** @description No transfer any more. */
            readonly closed: boolean;
            /** @description Entries that its history has. */
            readonly entries: number;
            /** @description Of that: promised to others by holds. */
            readonly held: components["schemas"]["Amount"];
            /** @description When it was opened. */
            readonly opened_at: string;
            /** @description Whether it may be overdrawn. */
            readonly overdraft: components["schemas"]["OverdraftWord"];
            /** @description What came in less what went out. */
            readonly posted: components["schemas"]["Amount"];
            /**
             * @description Whose.
             * @example alice
             */
            readonly wallet: string;
        };
        /** @description A node's report of itself. */
        readonly AliveNode: {
            /** @description `HOST:PORT` by purpose, such as `links` and `http`. */
            readonly addresses: {
                readonly [key: string]: string;
            };
            /** @description This life of the node, 16 hexadecimal digits. It is the owner of the shards that name the node. */
            readonly incarnation: string;
            /** @description The lowest and the highest feature level that it understands. */
            readonly levels: readonly number[];
            /**
             * Format: float
             * @description How busy it is: 0 idle, 1 at capacity.
             */
            readonly load: number;
            /**
             * @description When this life began, by the node's own clock (RFC 3339). Missing for versions that do not say.
             * @example 2026-11-21T21:09:03.250Z
             */
            readonly registered_at?: string | null;
            /** @description The version of the program. */
            readonly version: string;
            /** @description Its zone or rack; missing where it names none. */
            readonly zone?: string | null;
        };
        /**
         * @description Whole minor units (cents, votes): a number up to 2^53 - 1, beyond that a string of digits.
         * @example 250
         */
        readonly Amount: number | string;
        /**
         * @description Whole minor units (cents, votes), as a number or as a string of digits.
         * @example 250
         */
        readonly AmountField: number | string;
        /** @description An app's settings. Fields that are left out stay; a new app has the defaults. */
        readonly AppFields: {
            readonly cap?: components["schemas"]["CapFields"] | null;
            readonly device_writable?: components["schemas"]["DeviceWritableFields"] | null;
            /**
             * @description Seconds after which a push that names no expiry expires; 28 days by default.
             * @example 86400
             */
            readonly expiry_s?: number | null;
            /**
             * @description All of its feeds of events: jobs of the queues `events.APP.FEED`. At most 16; none by
             *     default.
             */
            readonly feeds?: readonly components["schemas"]["Feed"][] | null;
            /**
             * @description Deliveries that a device may be owed: for one more, the oldest of the lowest priority goes.
             *     1 to 1,000; 100 by default.
             */
            readonly inbox_max?: number | null;
            /** @description Whether a new device is opted in where its registration leaves that out; `true` by default. */
            readonly opted_in?: boolean | null;
            /** @description Whether a device that connects and is not registered is registered then; `true` by default. */
            readonly register_at_connect?: boolean | null;
            /** @description Seconds that a push is remembered after it settled; 7 days by default. */
            readonly remember_s?: number | null;
        };
        /** @description An app's name. */
        readonly AppName: string;
        /** @description A page of the apps, by name. */
        readonly AppPage: {
            readonly apps: readonly components["schemas"]["AppReport"][];
            /** @description `after` of the next page; none on the last one. */
            readonly next?: string | null;
        };
        /** @description An app: its settings and its figures. */
        readonly AppReport: {
            /**
             * @description Its name.
             * @example default
             */
            readonly app: string;
            /** @description Bytes of memory. */
            readonly bytes: number;
            /** @description Of those, connected. */
            readonly connected: number;
            /** @description Registered devices. */
            readonly devices: number;
            /** @description Of those, opted in. */
            readonly opted_in: number;
            /** @description Deliveries that devices are owed. */
            readonly owed: number;
            /** @description Pushes that are remembered; one to several devices counts once for each shard. */
            readonly pushes: number;
            /** @description How it behaves. */
            readonly settings: components["schemas"]["AppSettingsReport"];
        };
        /** @description How an app behaves. */
        readonly AppSettingsReport: {
            readonly cap?: components["schemas"]["CapFields"] | null;
            readonly device_writable: components["schemas"]["DeviceWritableFields"];
            readonly expiry_s: number;
            readonly feeds: readonly components["schemas"]["FeedReport"][];
            readonly inbox_max: number;
            readonly opted_in: boolean;
            readonly register_at_connect: boolean;
            readonly remember_s: number;
        };
        /** @description An asset's code. */
        readonly AssetCode: string;
        /** @description An asset to be made known. */
        readonly AssetFields: {
            /**
             * @description Digits behind the point when an amount is shown, 0 to 18: 2 for EUR, 0 for votes.
             * @example 2
             */
            readonly scale: number;
        };
        /** @description An asset, and what all accounts of it hold together. */
        readonly AssetReport: {
            /** @description Accounts of it. A system wallet's is one on each shard. */
            readonly accounts: number;
            /**
             * @description What it is called.
             * @example EUR
             */
            readonly asset: string;
            /** @description Whether `credit` is `debit`: each amount that is somewhere came from somewhere. Always true. */
            readonly balanced: boolean;
            /**
             * @description Sum of all balances above zero. Each shard's part of a system wallet counts by itself, and so does what shards owe one
             *     another.
             */
            readonly credit: components["schemas"]["Amount"];
            /** @description Sum of all balances below zero, without its sign. */
            readonly debit: components["schemas"]["Amount"];
            /** @description Held, all in all. */
            readonly held: components["schemas"]["Amount"];
            /**
             * @description Digits behind the point when an amount is shown.
             * @example 2
             */
            readonly scale: number;
        };
        /** @description All assets, by name. */
        readonly Assets: {
            readonly assets: readonly components["schemas"]["AssetReport"][];
        };
        /** @description An audience to be saved. */
        readonly AudienceFields: {
            /** @description A selector. */
            readonly audience: components["schemas"]["Selector"];
        };
        /** @description The saved audiences of an app, by name. */
        readonly AudienceList: {
            readonly audiences: readonly components["schemas"]["AudienceReport"][];
        };
        /** @description A saved audience. */
        readonly AudienceReport: {
            /** @description Its selector. */
            readonly audience: components["schemas"]["Selector"];
            /** @description Its name. */
            readonly name: string;
        };
        /** @description Who a push is for, as it is shown. */
        readonly AudienceView: {
            /** @description One device. */
            readonly device: string;
        } | {
            /** @description So many devices. */
            readonly device_count: number;
        } | {
            /** @description A channel. */
            readonly channel: string;
        } | "everybody" | {
            /** @description Registered devices of an app: an audience as in the app's pushes. */
            readonly registered: unknown;
        };
        /** @description The newest changes that were made over the API, newest first. */
        readonly AuditEntries: {
            readonly entries: readonly components["schemas"]["Entry"][];
        };
        /** @description Exponential back-off with jitter: attempt n waits `first_ms` x `factor`^(n-1), at most `max_ms`, less a random part. */
        readonly BackoffFields: {
            /**
             * Format: float
             * @description 1.0 to 10.0; 2.0.
             */
            readonly factor?: number | null;
            /** @description Before the second attempt; 1,000. */
            readonly first_ms?: number | null;
            /**
             * Format: float
             * @description The part of it that is random, 0.0 to 1.0; 0.5.
             */
            readonly jitter?: number | null;
            /** @description Never longer; 600,000. */
            readonly max_ms?: number | null;
        };
        /** @description Exponential back-off with jitter. */
        readonly BackoffView: {
            /** Format: float */
            readonly factor: number;
            readonly first_ms: number;
            /** Format: float */
            readonly jitter: number;
            readonly max_ms: number;
        };
        /** @description An account that is not empty. */
        readonly BalanceLeft: {
            /** @description The asset. */
            readonly asset: string;
            /** @description Of that: promised to others by holds. */
            readonly held: number;
            /**
             * Format: int64
             * @description The amount that came in less the one that went out, in minor units.
             */
            readonly posted: number;
            /** @description The wallet. */
            readonly wallet: string;
        };
        /** @description The balance of an account, now or at a time. */
        readonly BalanceReport: {
            readonly asset: string;
            /** @description The time that was asked for; none: now. */
            readonly at?: string | null;
            readonly available?: components["schemas"]["Amount"] | null;
            readonly held?: components["schemas"]["Amount"] | null;
            /** @description What came in less what went out. */
            readonly posted: components["schemas"]["Amount"];
            readonly wallet: string;
        };
        /** @description Several transfers. */
        readonly BatchFields: {
            /** @description All of them or none; else each by itself. */
            readonly linked?: boolean;
            /** @description 1 to 1,000. */
            readonly transfers: readonly components["schemas"]["TransferFields"][];
        };
        /** @description The outcome of one message of a batch: `status` is `accepted`, `busy`, `rejected` or `unknown`. */
        readonly BatchResult: components["schemas"]["PublishedMessage"] | {
            /** @description Why. */
            readonly problem: components["schemas"]["Problem"];
            /** @description `busy` and `rejected`: nobody got it. `unknown`: somebody may have. */
            readonly status: string;
        };
        /** @description A transfer that was booked. */
        readonly BookedTransfer: {
            /** @description When it was booked, by the server's clock. */
            readonly booked_at: string;
            /** @description Whether it had been booked before, so that nothing happened now. */
            readonly duplicate: boolean;
            /**
             * Format: uuid
             * @description Its id.
             * @example 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
             */
            readonly id: string;
        };
        /** @description What became of each transfer, in the order of the request. */
        readonly BookedTransfers: {
            readonly results: readonly components["schemas"]["EachBooked"][];
        };
        /**
         * @description What became of a transfer.
         * @enum {string}
         */
        readonly BookWord: "posted" | "held" | "captured" | "voided" | "expired" | "reversed" | "pending";
        /** @description Why a job is set aside. */
        readonly BuryFields: {
            /**
             * @description For the history and the list: at most 1,024 bytes.
             * @example no such template
             */
            readonly reason?: string | null;
        };
        /** @description As `BuryFields`, for several leases. */
        readonly BuryManyFields: {
            /** @description What was reserved, 1 to 1,000. */
            readonly leases: readonly components["schemas"]["LeaseId"][];
            /** @description For the history and the list: at most 1,024 bytes. */
            readonly reason?: string | null;
        };
        /** @description At most so many pushes for a device in a time that slides. */
        readonly CapFields: {
            /**
             * @description So many, at least 1.
             * @example 3
             */
            readonly pushes: number;
            /**
             * @description In so many seconds.
             * @example 86400
             */
            readonly within_s: number;
        };
        /** @description What became of one device. */
        readonly ChangedDevice: {
            /** @description Which. */
            readonly device: string;
            readonly error?: components["schemas"]["Problem"] | null;
            /** @description `registered` or `updated`; none where there is an `error`. */
            readonly status?: string | null;
        };
        /** @description What became of several devices, each. */
        readonly ChangedDevices: {
            /** @description Of each, in the order of the request. */
            readonly results: readonly components["schemas"]["ChangedDevice"][];
        };
        /** @description The fields of an account that change; fields that are left out stay. */
        readonly ChangeFields: {
            readonly ceiling?: components["schemas"]["AmountField"] | null;
            /** @description `true`: no transfer and no hold from now on. `false` opens it again. */
            readonly closed?: boolean;
            readonly overdraft?: components["schemas"]["OverdraftWord"];
        };
        /**
         * @description A channel's name: at most 1,024 bytes, no `+`, no `#`.
         * @example news
         */
        readonly ChannelField: string;
        /** @description What a clause does in an audience. */
        readonly ClauseReport: {
            /**
             * @description What it asks for.
             * @example tag "vip"
             */
            readonly clause: string;
            /** @description Devices for which it is the first clause that they fail. */
            readonly keeps_out: number;
            /** @description Devices that it means by itself. */
            readonly matches: number;
            /** @description Where it stands: `and[1]`; empty for all of it. */
            readonly path: string;
        };
        /** @description A click of a push, and the part of it that was clicked. */
        readonly ClickedFields: {
            /**
             * @description The part of the push, such as a button, by the app's own name for it.
             * @example buy
             */
            readonly action?: string | null;
            /** @description The device. */
            readonly device: components["schemas"]["DeviceId"];
        };
        /** @description A node that is asked to drain, and what it still has. */
        readonly ClusterDrain: {
            /** @description The node. */
            readonly node: string;
            /** @description Shards that it still owns. */
            readonly owned: number;
            /** @description Shards of which it still is a standby. */
            readonly standby: number;
        };
        /** @description A link of this node to another. */
        readonly ClusterLink: {
            /** @description Attempts to connect that failed, and connections that were lost, since then. */
            readonly failures: number;
            /**
             * @description Its purpose and its loop.
             * @example data-0
             */
            readonly link: string;
            /** @description The other node. */
            readonly node: string;
            /** @description Requests without an answer, and messages that the other node has not taken. */
            readonly pending: number;
            /** @description Bytes of them. */
            readonly pending_bytes: number;
            /** @description How many bytes of them there may be. */
            readonly pending_bytes_max: number;
            /** @description How many of them there may be. */
            readonly pending_max: number;
            /** @description Bytes received since then. */
            readonly received_bytes: number;
            /**
             * @description Microseconds of the last round trip, with a turn of the loop at both ends. Missing before the
             *     first.
             */
            readonly round_trip_us?: number | null;
            /** @description Bytes written since the node was added. */
            readonly sent_bytes: number;
            /** @description Whether it is up. */
            readonly up: boolean;
        };
        /** @description A shard on its way. */
        readonly ClusterMove: {
            /** @description Whether an operator asked for it; else the planner began it. */
            readonly asked: boolean;
            /** @description Its owner; none where it has none. */
            readonly from?: string | null;
            readonly lag?: components["schemas"]["StandbyLag"] | null;
            /** @description The shard. */
            readonly shard: number;
            /** @description How far it is. */
            readonly step: components["schemas"]["MoveStep"];
            /** @description The node that is to own it, or to be a standby of it. */
            readonly to: string;
        };
        /** @description A node of the cluster. */
        readonly ClusterNode: {
            readonly alive?: components["schemas"]["AliveNode"] | null;
            /** @description Those of them that it has in step. */
            readonly in_step: number;
            /**
             * @description Its name.
             * @example stadium-1
             */
            readonly node: string;
            /** @description Shards that it owns. */
            readonly owned: number;
            /** @description Shards of which it is a standby. */
            readonly standby: number;
            /** @description How it stands in the cluster. */
            readonly state: components["schemas"]["NodeState"];
        };
        /** @description A cluster, but for its shards. */
        readonly ClusterReport: {
            /** @description Whether the planner may move shards to balance the nodes. */
            readonly balancing: boolean;
            /** @description Commands of this node that wait for the answer of another. */
            readonly commands_waiting: number;
            /** @description Nodes that an operator asked to drain. */
            readonly drains: readonly components["schemas"]["ClusterDrain"][];
            /** @description The node's contact with etcd. Without one, this report is of the last contact. */
            readonly etcd: components["schemas"]["EtcdContact"];
            /** @description Why there is no contact with etcd. */
            readonly etcd_trouble?: string | null;
            /** @description Whether each shard has an owner, and as many standbys in step as it is to have. */
            readonly healthy: boolean;
            /**
             * @description The cluster's id, 16 hexadecimal digits.
             * @example 00c0ffee00c0ffee
             */
            readonly id: string;
            /** @description Whether the node is certain that its lease is valid. While it is not, each read costs a commit. */
            readonly lease_certain: boolean;
            /** @description Links of this node to others. */
            readonly links: readonly components["schemas"]["ClusterLink"][];
            /** @description Shards on their way to another owner or standby, by number. */
            readonly moves: readonly components["schemas"]["ClusterMove"][];
            /**
             * @description The cluster's name.
             * @example shop
             */
            readonly name: string;
            /**
             * @description The node that answers. All of the rest is as this node knows it.
             * @example stadium-1
             */
            readonly node: string;
            /** @description The nodes that are alive, that have shards, or that are asked to drain, by name. */
            readonly nodes: readonly components["schemas"]["ClusterNode"][];
            /** @description The node that plans; none while none is elected. */
            readonly planner?: string | null;
            /** @description Shards with a problem, by what it is. One shard may have several. */
            readonly problems: components["schemas"]["ShardProblems"];
            /** @description Whether the node is registered in etcd. */
            readonly registered: boolean;
            /** @description etcd's revision of which nodes, shards and moves are the truth. */
            readonly revision: number;
            /** @description How many shards the cluster has. */
            readonly shards: number;
            /** @description Standbys that each shard is to have, by the settings of this node. */
            readonly standbys: number;
        };
        /** @description A shard of the cluster. */
        readonly ClusterShard: {
            /** @description Grows with each change of owner, replicas or successor. */
            readonly generation: number;
            /** @description Whether it is on its way to another owner or standby. */
            readonly moving: boolean;
            /** @description The node that is alive and recorded as its owner. None: it takes no commands. */
            readonly owner?: string | null;
            /** @description Its problems. */
            readonly problems: readonly components["schemas"]["ShardProblem"][];
            /** @description Its number. */
            readonly shard: number;
            /** @description The other replicas, in the order of succession. */
            readonly standbys: readonly components["schemas"]["ClusterStandby"][];
        };
        /** @description A page of the shards of a cluster. */
        readonly ClusterShardPage: {
            /** @description `after` of the next page; none on the last one. */
            readonly next?: number | null;
            /** @description By number. */
            readonly shards: readonly components["schemas"]["ClusterShard"][];
        };
        /** @description A replica that is not the owner. */
        readonly ClusterStandby: {
            readonly lag?: components["schemas"]["StandbyLag"] | null;
            /** @description The node that has it. */
            readonly node: string;
            /** @description Whether it could own the shard. */
            readonly state: components["schemas"]["StandbyState"];
        };
        /** @description The cluster that this server is a node of. */
        readonly ClusterView: {
            readonly cluster?: components["schemas"]["ClusterReport"] | null;
        };
        /** @description The configuration in force. */
        readonly ConfigurationView: {
            /**
             * @description The file that was read; none where there is none.
             * @example /etc/stadium/stadium.toml
             */
            readonly file?: string | null;
            /** @description Each setting, in the order of the reference. */
            readonly settings: readonly components["schemas"]["SettingFact"][];
        };
        /** @description A device's open connection. */
        readonly ConnectionView: {
            /**
             * @description Where it comes from.
             * @example 192.0.2.7:51234
             */
            readonly address?: string | null;
            /** @description When it connected (RFC 3339). */
            readonly connected_at: string;
            /** @description Its keep-alive in seconds; 0 when it has none. */
            readonly keepalive_s: number;
            /** @description The event loop that owns it. */
            readonly loop: number;
            /**
             * @description `3.1.1` or `5.0`.
             * @example 5.0
             */
            readonly mqtt_version: string;
            /**
             * @description `tcp`, `tls`, `ws` or `wss`.
             * @example tls
             */
            readonly transport: string;
            /** @description Who it logged in as. */
            readonly username?: string | null;
        };
        /** @description The content of a push, as it is shown; empty to a caller that may not see it. */
        readonly ContentReport: {
            /** @description The message's MIME type. */
            readonly content_type?: string | null;
            /** @description The payload as it is, where it is text. */
            readonly message?: string | null;
            /** @description The payload as it is, in base64, where it is not. */
            readonly message_base64?: string | null;
            readonly notification?: components["schemas"]["NotificationFields"] | null;
            /** @description Sent to MQTT 5 devices. */
            readonly user_properties?: readonly components["schemas"]["PropertyReport"][];
        };
        /** @description How many jobs it concerned. */
        readonly Counted: {
            readonly count: number;
        };
        /** @description How many devices stand where. */
        readonly CountsReport: {
            /** @description It was cancelled first, or the device was removed. */
            readonly cancelled: number;
            /** @description Left out: had their fill. */
            readonly capped: number;
            /** @description Their users clicked it, or an action of it; counted among the opened too. */
            readonly clicked: number;
            /** @description A newer push took its place. */
            readonly collapsed: number;
            /** @description Their inbox was full. */
            readonly crowded_out: number;
            /** @description Acknowledged; at QoS 0: sent. */
            readonly delivered: number;
            /** @description Registered when it started. */
            readonly devices: number;
            /** @description The push expired before they came. */
            readonly expired: number;
            /** @description Left out: held out. */
            readonly held_out: number;
            /** @description Owed still: sent, and not acknowledged. */
            readonly in_flight: number;
            /** @description Matched by its audience. */
            readonly matched: number;
            /** @description Left out: a text needs a value that the device has not. */
            readonly no_value: number;
            /** @description Their users opened it; counted among the delivered too. */
            readonly opened: number;
            /** @description Left out: not opted in, or revoked. */
            readonly opted_out: number;
            /** @description Owed still: for their return, or for the push's pace. */
            readonly owed: number;
            /** @description Left out: in their quiet hours. */
            readonly quiet: number;
            /** @description They refused it, or it was too large for them. */
            readonly refused: number;
            /** @description Everybody who was matched and not left out. */
            readonly targeted: number;
            /** @description Owed still, when their quiet hours are over. */
            readonly waiting: number;
        };
        /** @description A key that was just made or rotated. */
        readonly CreatedKeyView: {
            /** @description The key. */
            readonly key: components["schemas"]["KeyView"];
            /**
             * @description The text behind `Authorization: Bearer`. It cannot be seen again.
             * @example sk_Zm9vYmFyYmF6cXV4...
             */
            readonly secret: string;
        };
        /** @description A secret that was just made. */
        readonly CredentialReport: {
            /** @description The MQTT client id to connect with. */
            readonly client_id: string;
            /** @description Whose. */
            readonly device: string;
            /**
             * @description The MQTT password to connect with. It cannot be seen again.
             * @example Zm9vYmFyYmF6cXV4...
             */
            readonly secret: string;
        };
        readonly Date: {
            readonly date: components["schemas"]["Moment"];
        };
        /** @description Where a job goes after its last attempt. */
        readonly DeadLetterFields: "keep" | "discard" | {
            readonly queue: components["schemas"]["QueueName"];
        };
        /** @description Where a job goes after its last attempt. */
        readonly DeadLetterView: "keep" | "discard" | {
            /** @description It is put into this queue. */
            readonly queue: string;
        };
        /** @description Jobs to take out. */
        readonly DeleteFields: {
            /** @description Their ids, 1 to 1,000. */
            readonly jobs: readonly components["schemas"]["JobId"][];
        };
        /** @description A page of deliveries, shard by shard. */
        readonly DeliveryPage: {
            readonly deliveries: readonly components["schemas"]["DeliveryReport"][];
            /** @description `after` of the next page; none on the last one. */
            readonly next?: string | null;
        };
        /** @description A delivery in a list. */
        readonly DeliveryReport: {
            /** @description When it was acknowledged. */
            readonly acknowledged_at?: string | null;
            /** @description The clause that did not match, the value that is missing, or the time that it waits for. */
            readonly detail?: string | null;
            /** @description The device. */
            readonly device: string;
            /** @description When it was sent last. */
            readonly sent_at?: string | null;
            /** @description Where it stands. */
            readonly state: string;
        };
        /**
         * @description A device id that has an inbox: no `+`, no `#`.
         * @example seat-0042
         */
        readonly DeviceField: string;
        /** @description The fields of a device that change. Fields that are left out stay; `null` clears. */
        readonly DeviceFields: {
            /**
             * @description The version of the app on it.
             * @example 2.3.1
             */
            readonly app_version?: string | null;
            /** @description Attributes by name: texts, numbers, dates as `{"date": ..}`; `null` takes one away. */
            readonly attributes?: {
                readonly [key: string]: null | components["schemas"]["Value"];
            };
            /**
             * @description ISO 3166 alpha-2.
             * @example AT
             */
            readonly country?: string | null;
            /**
             * @description BCP 47.
             * @example de-AT
             */
            readonly language?: string | null;
            /** @description Where it is. */
            readonly location?: null | components["schemas"]["Location"];
            /**
             * @description Whose it is: a named user may have many devices.
             * @example user-17
             */
            readonly named_user?: string | null;
            /** @description Whether it wants pushes. */
            readonly opt_in?: boolean;
            /**
             * @description `ios`, `android`, `web`, `huawei`, or another.
             * @example ios
             */
            readonly platform?: string | null;
            /** @description When it wants none, by its own clock. */
            readonly quiet_hours?: null | components["schemas"]["QuietHours"];
            /** @description All its tags from now on; or `{"set": [..], "remove": [..], "add": [..]}`. */
            readonly tags?: components["schemas"]["DeviceTags"];
            /**
             * @description A time zone by its IANA name.
             * @example Europe/Vienna
             */
            readonly time_zone?: string | null;
        };
        /** @description A registered device's id: at most 128 bytes. */
        readonly DeviceId: string;
        /** @description A page of devices. */
        readonly DeviceList: {
            /** @description In order of their ids' bytes. */
            readonly devices: readonly components["schemas"]["DeviceView"][];
            /** @description Where the next page begins: give it as `after`. Missing on the last page. */
            readonly next?: string | null;
        };
        /** @description Devices to be registered or changed. */
        readonly DevicesFields: {
            /** @description 1 to 1,000: each has `device` and what becomes different. */
            readonly devices: readonly components["schemas"]["NamedDeviceFields"][];
        };
        readonly DeviceTags: readonly components["schemas"]["Tag"][] | {
            readonly add?: readonly components["schemas"]["Tag"][];
            readonly remove?: readonly components["schemas"]["Tag"][];
            readonly set?: readonly components["schemas"]["Tag"][];
        };
        /** @description A token of a device. */
        readonly DeviceToken: {
            /**
             * @description Its device.
             * @example phone-7
             */
            readonly device: string;
            /**
             * @description When it is over.
             * @example 2026-11-26T12:00:00.000Z
             */
            readonly expires_at: string;
            /**
             * @description The token: `Authorization: Bearer st_...` on `/api/me/...`.
             * @example st_AQAAAABp...
             */
            readonly token: string;
        };
        /** @description How long a token lasts. */
        readonly DeviceTokenFields: {
            /**
             * @description Seconds; 3,600 by default.
             * @example 3600
             */
            readonly expires_in_s?: number | null;
        };
        /** @description A device. */
        readonly DeviceView: {
            /** @description Whether it has an open connection. */
            readonly connected: boolean;
            readonly connection?: components["schemas"]["ConnectionView"] | null;
            /**
             * @description Its MQTT client identifier.
             * @example seat-0042
             */
            readonly id: string;
            /** @description Messages sent and not acknowledged. */
            readonly in_flight: number;
            /** @description Messages kept for it and not sent yet. */
            readonly queued: number;
            /** @description When its session ends unless it comes back (RFC 3339). */
            readonly session_expires_at?: string | null;
            /** @description How many subscriptions it has. */
            readonly subscription_count: number;
            /** @description Its subscriptions; only when one device is shown. */
            readonly subscriptions?: readonly components["schemas"]["SubscriptionView"][] | null;
        };
        /**
         * @description Tags and attributes that the app's devices may change by themselves. A pattern is a name, or the
         *     beginning of names and `*`; that of a tag is written `NAME` or `GROUP:NAME`.
         */
        readonly DeviceWritableFields: {
            /**
             * @description Patterns of attributes, at most 64.
             * @example [
             *       "language"
             *     ]
             */
            readonly attributes?: readonly string[];
            /**
             * @description Patterns of tags, at most 64.
             * @example [
             *       "news-*"
             *     ]
             */
            readonly tags?: readonly string[];
        };
        /**
         * @description Whether an amount came in or went out.
         * @enum {string}
         */
        readonly DirectionWord: "credit" | "debit";
        /** @description How finding services goes. */
        readonly DiscoveryView: {
            /** @description Whether the backend answers, or none is needed. */
            readonly connected: boolean;
            /** @description Of these, how many the backend is known to hold. */
            readonly registered: number;
            /** @description Registrations that are wanted. */
            readonly registrations: number;
            /** @description Troubles that were mended. */
            readonly troubles: readonly components["schemas"]["OutcomeView"][];
        };
        /** @description What became of one transfer of several: `booked_at` and `duplicate`, or `error`. */
        readonly EachBooked: {
            /** @description When it was booked. */
            readonly booked_at?: string | null;
            /** @description Whether it had been booked before. */
            readonly duplicate?: boolean | null;
            readonly error?: components["schemas"]["Problem"] | null;
            /**
             * Format: uuid
             * @description Its id.
             */
            readonly id: string;
        };
        /** @description What became of one account of several: `opened` or `error`. */
        readonly EachOpened: {
            readonly asset: string;
            readonly error?: components["schemas"]["Problem"] | null;
            /** @description Whether it was opened now; `false`: it was there, with the same rules. */
            readonly opened?: boolean | null;
            readonly wallet: string;
        };
        /** @description What became of one of several: `outcome` or `error`. */
        readonly EachOutcome: {
            readonly error?: components["schemas"]["Problem"] | null;
            /** @description The lease or the job, as it was named. */
            readonly of: string;
            readonly outcome?: components["schemas"]["OutcomeWord"] | null;
        };
        /** @description The fields of a job that change; fields that are left out stay. */
        readonly EditFields: {
            /** @description Another number of attempts. */
            readonly attempts_max?: number | null;
            /** @description Due so many milliseconds from now. */
            readonly delay_ms?: number | null;
            /** @description Another payload, as in a put. */
            readonly payload?: unknown;
            /** @description Another payload as base64. */
            readonly payload_base64?: string | null;
            /** @description Another priority. */
            readonly priority?: number | null;
            /**
             * Format: date-time
             * @description Due at this time (RFC 3339).
             */
            readonly run_at?: string | null;
            /** @description Gone so many milliseconds from now. */
            readonly ttl_ms?: number | null;
        };
        /** @description A change, made or refused; a sign-in or a logout; or a key that was refused. */
        readonly Entry: {
            /**
             * @description The address that asked; none where changes of several are counted together.
             * @example 192.0.2.7
             */
            readonly address?: string | null;
            /** @description When it was answered (RFC 3339). */
            readonly at: string;
            /** @description The code of a refusal. */
            readonly code?: string | null;
            /**
             * @description The API key that asked, `oidc:SUBJECT` of a person, `token:SUBJECT of ISSUER` or
             *     `certificate:NAME` of a caller of RPC; `none` where nobody is known.
             * @example k_3f9a01c2d4e5
             */
            readonly key: string;
            /** @description What was made. */
            readonly made?: string | null;
            /** @description The name of that key, person or caller. */
            readonly name: string;
            /**
             * @description What was changed; none where several changes are counted together.
             * @example /api/apps/default/devices/phone-7
             */
            readonly path?: string | null;
            /**
             * @description The roles, or `grants` of a key that has none; none of a person without one.
             * @example sender
             */
            readonly role?: string | null;
            /**
             * @description The sort of change.
             * @example PUT /api/apps/{app}/devices/{device}
             */
            readonly route: string;
            /** @description The HTTP status: below 400 it was made. */
            readonly status: number;
            /** @description How many changes of this sort were made since the entry before, where they are counted together. */
            readonly times?: number | null;
        };
        /** @description A page of an account's history, the newest entry first. */
        readonly EntryPageReport: {
            readonly entries: readonly components["schemas"]["EntryReport"][];
            /** @description `before` of the next page; none on the last one. */
            readonly next?: string | null;
        };
        /** @description One line of an account's history. */
        readonly EntryReport: {
            /** @description How much. */
            readonly amount: components["schemas"]["Amount"];
            /** @description The account's posted balance after it. */
            readonly balance: components["schemas"]["Amount"];
            /** @description In or out, seen from the account. */
            readonly direction: components["schemas"]["DirectionWord"];
            /** @description Its number in the account, from 1. A system wallet's are numbered on each shard. */
            readonly number: number;
            /** @description The other wallet. */
            readonly other: string;
            /** @description The transfer. */
            readonly transfer: components["schemas"]["TransferReport"];
        };
        /** @description An erasure of a user. */
        readonly Erasure: {
            /** @description When it was asked for (RFC 3339), while it runs. */
            readonly began_at?: string | null;
            /** @description When it finished. */
            readonly finished_at?: string | null;
            /** @description Counts of each kind that were found so far, while it runs. */
            readonly found?: {
                readonly [key: string]: number;
            } | null;
            /**
             * @description Its id.
             * @example 0c1d2e3f405162738495a6b7c8d9eafb
             */
            readonly id: string;
            /** @description The nodes of a cluster whose sessions of the user are gone, while it runs. */
            readonly nodes_done?: readonly string[] | null;
            readonly receipt?: components["schemas"]["ErasureReceipt"] | null;
            /**
             * @description `running`, or `finished`.
             * @example finished
             */
            readonly state: string;
            /** @description The steps, while it runs. */
            readonly steps?: readonly components["schemas"]["ErasureStep"][] | null;
            /** @description The user's name, while it runs. A finished erasure has its salted hash alone. */
            readonly user?: string | null;
            /** @description The reason for which the last try got no further. It is tried again until it does. */
            readonly waits_for?: string | null;
        };
        /** @description The erasures, newest first. */
        readonly ErasurePage: {
            readonly erasures: readonly components["schemas"]["Erasure"][];
            /** @description The key that signs receipts, hexadecimal. Keep it elsewhere: with it anybody can check them. */
            readonly public_key: string;
        };
        /** @description The effects of an erasure. */
        readonly ErasurePlan: {
            /** @description Accounts that are not empty: without `balances=keep` the erasure would be refused for them. */
            readonly balances: readonly components["schemas"]["BalanceLeft"][];
            /** @description Counts of each kind that would be removed. */
            readonly found: {
                readonly [key: string]: number;
            };
            /** @description Things that would stay, each with its reason. */
            readonly kept: readonly components["schemas"]["KeptOfUser"][];
            /**
             * @description The user.
             * @example ada
             */
            readonly user: string;
        };
        /** @description A receipt with its signature. */
        readonly ErasureReceipt: {
            /** @description `Ed25519`. */
            readonly algorithm: string;
            /** @description The server's key, hexadecimal. */
            readonly public_key: string;
            /** @description The erasure: `id`, `user_hash`, `salt`, `by`, `began_at`, `finished_at`, `removed`, `kept`. */
            readonly receipt: Record<string, never>;
            /** @description Over `receipt` as JSON with sorted names and without spaces, hexadecimal. */
            readonly signature: string;
        };
        /** @description A step of an erasure. */
        readonly ErasureStep: {
            /** @description Whether it is done. */
            readonly done: boolean;
            /**
             * @description `devices`, `pushes`, `sessions`, `retained_messages`, `jobs` or `wallets`.
             * @example devices
             */
            readonly step: string;
        };
        /**
         * @description Whether etcd is reached.
         * @enum {string}
         */
        readonly EtcdContact: "connected" | "away" | "refused";
        /** @description The decision about a key, a verb and a resource. */
        readonly Explanation: {
            /** @description Whether the key may do it, limits aside. */
            readonly allowed: boolean;
            readonly by?: components["schemas"]["HeldGrant"] | null;
            /** @description All grants of the key for this verb, those of its roles included. */
            readonly held: readonly components["schemas"]["HeldGrant"][];
            /**
             * @description The decision in words.
             * @example allowed by `queue.put:votes*`, a grant of its own
             */
            readonly reason: string;
        };
        /** @description How much longer a worker needs. */
        readonly ExtendFields: {
            /**
             * @description The lease ends so many milliseconds from now.
             * @example 30000
             */
            readonly lease_ms: number;
        };
        /** @description As `ExtendFields`, for several leases. */
        readonly ExtendManyFields: {
            /**
             * @description The leases end so many milliseconds from now.
             * @example 30000
             */
            readonly lease_ms: number;
            /** @description What was reserved, 1 to 1,000. */
            readonly leases: readonly components["schemas"]["LeaseId"][];
        };
        /** @description The events that an app wants to get. */
        readonly Feed: {
            /**
             * @description `delivered`, `opened`, `clicked`, `expired`, `refused`, `connected`, `disconnected`, `message`.
             * @example [
             *       "delivered",
             *       "opened"
             *     ]
             */
            readonly kinds: readonly ("delivered" | "opened" | "expired" | "refused" | "connected" | "disconnected" | "message" | "clicked")[];
            /**
             * @description Small letters, digits, `_` and `-`; at most 48 bytes.
             * @example crm
             */
            readonly name: string;
            /**
             * @description MQTT topic filters: of messages those whose topics match one of them. At most 16; with the kind `message` only, and needed there.
             * @example [
             *       "up/#"
             *     ]
             */
            readonly topics?: readonly string[];
            readonly webhook?: components["schemas"]["Webhook"] | null;
        };
        /** @description A feed; its secret is not shown. */
        readonly FeedReport: {
            readonly kinds: readonly string[];
            readonly name: string;
            readonly topics?: readonly string[];
            readonly webhook?: components["schemas"]["WebhookReport"] | null;
        };
        /** @description Where a job goes on. */
        readonly ForwardFields: {
            /** @description The job there. Without a payload it keeps the one it had. */
            readonly job?: components["schemas"]["JobFields"];
            /** @description The queue. */
            readonly queue: components["schemas"]["QueueName"];
        };
        /** @description A verb, a pattern of resources and a limit: `queue.put:votes* 100/s`. */
        readonly GrantText: string;
        /** @description How the server is. */
        readonly Health: {
            /**
             * @description `alive` from `/healthz`, `ready` from `/readyz`.
             * @example ready
             */
            readonly status: string;
        };
        /** @description A grant of a key. */
        readonly HeldGrant: {
            /**
             * @description The grant, with its limit.
             * @example queue.put:votes*
             */
            readonly grant: string;
            /** @description The role that it comes from; none of one of the key's own. */
            readonly role?: string | null;
        };
        /** @description Memory held, in bytes. */
        readonly HeldSample: {
            /** @description Parts of packets waiting for their rest. */
            readonly carry_buffers: number;
            /** @description Connections' own state. */
            readonly connections: number;
            /** @description Retained messages. */
            readonly retained: number;
            /** @description Sessions with their queues. */
            readonly sessions: number;
            /** @description Bytes accepted and not yet taken by a socket. */
            readonly write_queues: number;
        };
        /** @description A job's history, the newest event first. */
        readonly History: {
            readonly events: readonly components["schemas"]["HistoryEvent"][];
        };
        /** @description What happened to a job; which fields there are depends on `event`. */
        readonly HistoryEvent: {
            /** @description When. */
            readonly at: string;
            /** @description Which attempt began. */
            readonly attempt?: number | null;
            /** @description When it was due then. */
            readonly due_at?: string | null;
            /**
             * @description `put`, `reserved`, `extended`, `released`, `lease_expired`, `buried`, `revived`, `dead`, `edited`, `settled`,
             *     `forwarded`, `deleted`, `expired`, or `trimmed`: earlier events are in parts of the journal
             *     that are gone.
             * @example reserved
             */
            readonly event: string;
            /** @description As which job it went on. */
            readonly job?: string | null;
            /** @description The lease's end then. */
            readonly lease_until?: string | null;
            /** @description The principal that put it. */
            readonly principal?: string | null;
            /** @description The queue it was put, revived or forwarded into. */
            readonly queue?: string | null;
            /** @description What went wrong, or why it was buried or died. */
            readonly reason?: string | null;
            /** @description Who began it. */
            readonly worker?: string | null;
        };
        /** @description The fleet at a time, and what it did since the point before. */
        readonly HistoryPoint: {
            /** @description When it was taken, milliseconds since 1970. */
            readonly at_ms: number;
            /**
             * Format: float
             * @description The busiest loop when it was taken, 0 to 1.
             */
            readonly busy_ratio: number;
            /** @description Bytes of memory that connections, sessions, queues and retained messages hold. */
            readonly bytes_held: number;
            /**
             * Format: float
             * @description Connections that closed in a second.
             */
            readonly closes: number;
            /** @description Devices with an open connection. */
            readonly connected: number;
            /**
             * Format: float
             * @description Devices that connected in a second.
             */
            readonly connects: number;
            /**
             * Format: float
             * @description Messages written to devices' sockets in a second.
             */
            readonly deliveries: number;
            /**
             * Format: float
             * @description Messages given up in a second.
             */
            readonly drops: number;
            /** @description Latency of the deliveries since the point before. */
            readonly latency: components["schemas"]["Latency"];
            /**
             * Format: float
             * @description Messages that devices published in a second.
             */
            readonly publishes: number;
        };
        /** @description A part of the history. */
        readonly HistoryView: {
            /** @description The oldest first. */
            readonly points: readonly components["schemas"]["HistoryPoint"][];
            /**
             * @description Points that are kept at most.
             * @example 360
             */
            readonly points_max: number;
            /**
             * @description Seconds between two points.
             * @example 10
             */
            readonly step_s: number;
        };
        /** @description An open hold. */
        readonly HoldReport: {
            /** @description How much. */
            readonly amount: components["schemas"]["Amount"];
            /** @description Of what. */
            readonly asset: string;
            /** @description To whom, when it is captured. */
            readonly credit: string;
            /** @description From whom. */
            readonly debit: string;
            /** @description When it ends by itself. */
            readonly expires_at: string;
            /** @description When it was made. */
            readonly held_at: string;
            /**
             * Format: uuid
             * @description Its id: capture or void it under this one.
             */
            readonly id: string;
        };
        /** @description The open holds of a wallet, oldest first. */
        readonly Holds: {
            readonly holds: readonly components["schemas"]["HoldReport"][];
        };
        /** @description 128 bits: 32 hexadecimal digits, with or without the hyphens of a UUID. */
        readonly Id128: string;
        /** @description What became of a file. */
        readonly ImportReport: {
            /** @description Records that were skipped. */
            readonly failed: number;
            /** @description The first hundred of those. */
            readonly mistakes: readonly components["schemas"]["MistakeReport"][];
            /** @description Records in it; headings and empty lines are none. */
            readonly records: number;
            /** @description Devices that are new. */
            readonly registered: number;
            /** @description Devices that were known. */
            readonly updated: number;
        };
        /** @description A push that the device is owed, as it gets it over MQTT too. */
        readonly InboxMessageReport: {
            /** @description The message's MIME type. */
            readonly content_type?: string | null;
            /** @description The message, or a notification as JSON, where it is text. */
            readonly message?: string | null;
            /** @description The message in base64, where it is not. */
            readonly message_base64?: string | null;
            /** @description 0 to 9. */
            readonly priority: number;
            /** @description Its id. */
            readonly push: string;
            /** @description When it started (RFC 3339). */
            readonly since: string;
            /** @description When it expires. */
            readonly until?: string | null;
            /** @description The user properties of the message. */
            readonly user_properties: readonly components["schemas"]["PropertyReport"][];
        };
        /** @description Jobs of a queue by where they stand. */
        readonly JobCounts: {
            /** @description Set aside by a worker. */
            readonly buried: number;
            /** @description Their last attempt failed. */
            readonly dead: number;
            /** @description Their time has not come. */
            readonly delayed: number;
            /** @description They may be reserved. */
            readonly due: number;
            /** @description Somebody works on them. */
            readonly reserved: number;
            /** @description All of them. */
            readonly total: number;
        };
        /** @description A job to put. At most one of `payload` and `payload_base64` is given, and of `delay_ms` and `run_at`. */
        readonly JobFields: {
            /** @description Attempts before it is dead; the queue's own number by default. */
            readonly attempts_max?: number | null;
            /** @description The client's own id: at most one job with it within the window. */
            readonly dedup_id?: string | null;
            /** @description How long `dedup_id` is remembered; the queue's own window by default. */
            readonly dedup_window_ms?: number | null;
            /**
             * @description Due so many milliseconds from now.
             * @example 60000
             */
            readonly delay_ms?: number | null;
            /**
             * @description Jobs of one key run one after another in the order they were put, and keys get fair shares.
             * @example tenant-7
             */
            readonly key?: string | null;
            /** @description What the worker gets. A string is kept as its UTF-8 text; anything else as the JSON text given. */
            readonly payload?: unknown;
            /** @description The payload as base64, for bytes that are not text. */
            readonly payload_base64?: string | null;
            /** @description Which goes first of the jobs that are due: 0 to 9, 9 first; 4 by default. */
            readonly priority?: number | null;
            /**
             * Format: date-time
             * @description Due at this time (RFC 3339); at once where it has passed.
             * @example 2030-01-01T20:00:00Z
             */
            readonly run_at?: string | null;
            /** @description Gone by itself when it is not settled so many milliseconds after it was put. */
            readonly ttl_ms?: number | null;
        };
        /** @description A job's id: 64 bits, as decimal digits. */
        readonly JobId: string;
        /** @description A page of a queue's jobs. */
        readonly JobPage: {
            readonly jobs: readonly components["schemas"]["JobReport"][];
            /** @description `after` of the next page; none on the last one. */
            readonly next?: string | null;
        };
        /** @description A job as it stands. */
        readonly JobReport: {
            /** @description Attempts so far. */
            readonly attempts: number;
            /** @description Attempts before it is dead. */
            readonly attempts_max: number;
            /** @description When it is due, or was. */
            readonly due_at: string;
            /** @description When it goes by itself. */
            readonly expires_at?: string | null;
            /**
             * @description The job.
             * @example 18014398509481985
             */
            readonly id: string;
            /** @description The key of its order and share. */
            readonly key?: string | null;
            /** @description When its lease ends, while it is reserved. */
            readonly lease_until?: string | null;
            /** @description The payload, where it is UTF-8 text. */
            readonly payload?: string | null;
            /** @description The payload otherwise. */
            readonly payload_base64?: string | null;
            /** @description Bytes of the payload. */
            readonly payload_bytes: number;
            /** @description Whether only its begin is here. */
            readonly payload_cut?: boolean;
            /**
             * @description The id of the principal that put it: an API key, a person, or the holder of a token or a
             *     certificate. None where the server did itself, and of a job that an older version put.
             * @example k_0011223344556677
             */
            readonly principal?: string | null;
            /** @description 0 to 9, 9 first. */
            readonly priority: number;
            /** @description When it was put. */
            readonly put_at: string;
            /** @description Its queue. */
            readonly queue: string;
            /** @description Why it is buried or dead, or the last error. */
            readonly reason?: string | null;
            /** @description Where it stands. */
            readonly state: components["schemas"]["StateWord"];
        };
        /** @description Which jobs of a queue: these, or the oldest ones. */
        readonly JobSetFields: {
            /** @description These, 1 to 1,000. */
            readonly jobs?: readonly components["schemas"]["JobId"][] | null;
            /** @description The oldest, at most so many, 1 to 1,000; 1,000 where neither is given. */
            readonly max?: number | null;
        };
        /** @description Something that stays, and why. */
        readonly KeptOfUser: {
            /** @description How many; none where nothing counts them. */
            readonly count?: number | null;
            /**
             * @description The kind of thing.
             * @example wallet_entries
             */
            readonly kind: string;
            /** @description The reason for which it stays, and until when. */
            readonly why: string;
        };
        /** @description All keys, oldest first. */
        readonly KeyList: {
            readonly keys: readonly components["schemas"]["KeyView"][];
        };
        /** @description A key, without its secret. */
        readonly KeyView: {
            /** @description The apps that its roles are about; none for everything. */
            readonly apps?: readonly string[] | null;
            /** @description When it was made (RFC 3339). */
            readonly created_at: string;
            /** @description When it stops working (RFC 3339); none if it has no end. */
            readonly expires_at?: string | null;
            /**
             * @description Its grants beside those of its roles.
             * @example [
             *       "queue.put:votes*"
             *     ]
             */
            readonly grants: readonly string[];
            /**
             * @description Names the key.
             * @example k_3f9a01c2d4e5
             */
            readonly id: string;
            /** @description When it was used last (RFC 3339); none if it never was. */
            readonly last_used_at?: string | null;
            /**
             * @description The address that used it last.
             * @example 192.0.2.7
             */
            readonly last_used_from?: string | null;
            /** @description The name that its owner gave it. */
            readonly name: string;
            /**
             * @description The beginning of its secret, to recognise it by.
             * @example sk_Zm9v
             */
            readonly prefix?: string | null;
            /** @description Its roles. */
            readonly roles: readonly components["schemas"]["RoleWord"][];
            /** @description Until when the secret before its last rotation works (RFC 3339). */
            readonly rotates_until?: string | null;
        };
        /**
         * @description What a transfer does.
         * @enum {string}
         */
        readonly KindWord: "post" | "hold" | "capture" | "void" | "reverse";
        /** @description Recent latency; nothing while nothing was delivered. */
        readonly Latency: {
            /**
             * Format: double
             * @description Half of the deliveries took at most this many milliseconds.
             */
            readonly p50_ms?: number | null;
            /**
             * Format: double
             * @description 99 in 100.
             */
            readonly p99_ms?: number | null;
        };
        /** @description A lease: a job and the number of its reservation. */
        readonly LeaseId: string;
        /** @description A token bucket. */
        readonly LimitFields: {
            /** @description Jobs that may go at once after a rest; as many as a second's, at least 1, by default. */
            readonly burst?: number | null;
            /**
             * Format: double
             * @description Jobs a second: 0.001 to 1,000,000.
             */
            readonly rate: number;
        };
        /** @description A token bucket. */
        readonly LimitView: {
            /** @description Jobs that may go at once after a rest. */
            readonly burst: number;
            /**
             * Format: double
             * @description Jobs a second.
             */
            readonly rate: number;
        };
        /** @description A listener. */
        readonly ListenerFact: {
            /**
             * @description Its address, with the port that the system chose where port 0 was asked for.
             * @example 0.0.0.0:8883
             */
            readonly address: string;
            /**
             * @description `mqtt`, `mqtts`, `ws`, `wss`, `http`, `rpc`, `rpc-websocket` or `rpc-udp`.
             * @example mqtts
             */
            readonly name: string;
        };
        /** @description Devices that come onto a static list, or leave it. */
        readonly ListFields: {
            /** @description Up to 1,000 ids. One that is not registered gets an error of its own. */
            readonly devices: readonly components["schemas"]["DeviceId"][];
        };
        /** @description A static list's name. */
        readonly ListName: string;
        /** @description What queues hold and do: one, or all of them together. */
        readonly LiveFigures: {
            readonly jobs: components["schemas"]["JobCounts"];
            /** @description When the oldest job that is due became due. */
            readonly oldest_due_at?: string | null;
            readonly per_s: components["schemas"]["LiveRates"];
            /** @description Puts a second, the newest last. */
            readonly put_line: readonly number[];
            /** @description Settled a second, the newest last. */
            readonly settled_line: readonly number[];
            /** @description Consumers that wait for a job. */
            readonly waiting: number;
        };
        /** @description One queue. */
        readonly LiveQueue: components["schemas"]["LiveFigures"] & {
            readonly name: string;
            readonly paused: boolean;
        };
        /** @description What the queues do now. */
        readonly LiveQueues: {
            /** @description All queues together. */
            readonly all: components["schemas"]["LiveFigures"];
            /** @description When it was looked, milliseconds since 1970. */
            readonly at_ms: number;
            /** @description Whether these are all there are. */
            readonly complete: boolean;
            /** @description Of those, the ones whose name fits `search`. */
            readonly found_count: number;
            /** @description Time between two looks, and two points of the lines. */
            readonly period_ms: number;
            /** @description Queues that were looked at. */
            readonly queue_count: number;
            /** @description The page. */
            readonly queues: readonly components["schemas"]["LiveQueue"][];
            /** @description The shards. */
            readonly shards: readonly components["schemas"]["LiveShard"][];
        };
        /** @description What happened in a second. */
        readonly LiveRates: {
            /**
             * Format: float
             * @description Jobs that died.
             */
            readonly died: number;
            /**
             * Format: float
             * @description Jobs handed out.
             */
            readonly handed_out: number;
            /**
             * Format: float
             * @description Jobs put.
             */
            readonly put: number;
            /**
             * Format: float
             * @description Attempts that ended in another try.
             */
            readonly retried: number;
            /**
             * Format: float
             * @description Jobs done.
             */
            readonly settled: number;
        };
        /** @description One shard. */
        readonly LiveShard: {
            /** @description When the newest checkpoint was begun. */
            readonly checkpoint_at?: string | null;
            /** @description Jobs, in whatever state. */
            readonly jobs: number;
            /** @description Bytes of payloads that are alive in them. */
            readonly live_bytes: number;
            /** @description Commands in its mailbox. */
            readonly mailbox_commands: number;
            /** @description How long a recovery would take now. */
            readonly recovery_expected_ms: number;
            /** @description Bytes of disk that segments take. */
            readonly segment_bytes: number;
            /** @description Whether it takes commands. */
            readonly serving: boolean;
            readonly shard: number;
            /** @description Bytes of memory that the state holds. */
            readonly state_bytes: number;
            /** @description Bytes of journal after it. */
            readonly tail_bytes: number;
            /** @description Why not, in words. */
            readonly trouble?: string | null;
        };
        /** @description What the wallets hold and do now. */
        readonly LiveWallets: {
            /** @description All assets, by name. */
            readonly assets: readonly components["schemas"]["AssetReport"][];
            /** @description When it was looked, milliseconds since 1970. */
            readonly at_ms: number;
            /** @description Whether the sum of all balances is zero for each asset. Always true. */
            readonly balanced: boolean;
            /** @description The same over the last two minutes, the newest last. */
            readonly booked_line: readonly number[];
            /**
             * Format: float
             * @description Transfers booked a second, by whatever way they came.
             */
            readonly booked_per_s: number;
            /** @description The accounts that moved most of what was posted over HTTP. */
            readonly movers: readonly components["schemas"]["Mover"][];
            /** @description Time that `movers` is about. */
            readonly movers_window_ms: number;
            /** @description Time between two looks, and two points of the line. */
            readonly period_ms: number;
            /** @description The shards. */
            readonly shards: readonly components["schemas"]["LiveWalletShard"][];
        };
        /** @description The wallets' part of one shard. */
        readonly LiveWalletShard: {
            /** @description Accounts, its parts of system wallets' included. */
            readonly accounts: number;
            /** @description Transfers booked since it started; replayed ones count. */
            readonly booked: number;
            /** @description Open holds. */
            readonly holds: number;
            /** @description Transfers between shards that are not decided. */
            readonly pending: number;
            /** @description Transfers refused since it started. */
            readonly refused: number;
            readonly seal?: components["schemas"]["RootReport"] | null;
            /** @description Whether it takes commands. */
            readonly serving: boolean;
            readonly shard: number;
            /** @description Why not, in words. */
            readonly trouble?: string | null;
            /** @description Records that no seal covers yet. */
            readonly unsealed: number;
        };
        readonly Location: {
            readonly latitude: number;
            readonly longitude: number;
        };
        /** @description One event loop in this second. */
        readonly LoopSample: {
            /**
             * Format: double
             * @description The part of the second that it worked, 0 to 1.
             */
            readonly busy_ratio: number;
            /** @description Its connections. */
            readonly connections: number;
            /**
             * Format: double
             * @description Deliveries a second.
             */
            readonly deliveries_per_s: number;
            /** @description Commands waiting in its mailbox. */
            readonly mailbox_depth: number;
        };
        /** @description An event loop. */
        readonly LoopView: {
            /**
             * Format: double
             * @description The part of the last second that it worked, 0 to 1.
             */
            readonly busy_ratio: number;
            /** @description Bytes written to sockets since the start. */
            readonly bytes_out_total: number;
            /** @description Its connections. */
            readonly connections: number;
            /** @description Messages written to devices' sockets since the start. */
            readonly deliveries_total: number;
            /** @description Commands waiting in its mailbox. */
            readonly mailbox_depth: number;
        };
        /** @description A method of a service. */
        readonly MethodView: {
            /** @description How its requests ended. */
            readonly outcomes: readonly components["schemas"]["OutcomeView"][];
            /**
             * Format: double
             * @description Half of the requests took at most this.
             */
            readonly p50_ms: number;
            /**
             * Format: double
             * @description 99 of a hundred took at most this.
             */
            readonly p99_ms: number;
            /**
             * @description `SERVICE/METHOD`.
             * @example push/Send
             */
            readonly route: string;
        };
        /** @description What becomes of a missed occurrence. */
        readonly MissedField: "skip" | {
            readonly late_s: number;
        };
        /**
         * @description Handling of a schedule's occurrences that passed while the server was down.
         * @enum {string}
         */
        readonly MissedWord: "once" | "skip" | "all";
        /** @description A value that a push's texts need, and how many devices it leaves out for the lack of it. */
        readonly MissingValueReport: {
            /** @description Devices that lack it. */
            readonly devices: number;
            /**
             * @description The attribute or built-in field.
             * @example first_name
             */
            readonly name: string;
        };
        /** @description A record that was skipped. */
        readonly MistakeReport: {
            /** @description Where it begins, from 1. */
            readonly line: number;
            /** @description What is wrong with it. */
            readonly reason: string;
        };
        /**
         * Format: date-time
         * @description A moment (RFC 3339).
         */
        readonly Moment: string;
        /** @description An account and what it moved. */
        readonly Mover: {
            readonly asset: string;
            /** @description What came in. */
            readonly credit: components["schemas"]["Amount"];
            /** @description What went out. */
            readonly debit: components["schemas"]["Amount"];
            /** @description Transfers. */
            readonly transfers: number;
            readonly wallet: string;
        };
        /**
         * @description The step of a shard that is on its way.
         * @enum {string}
         */
        readonly MoveStep: "waiting" | "warming_up" | "handing_over";
        /** @description A device, and what becomes different about it. What is left out stays; `null` clears. */
        readonly NamedDeviceFields: {
            readonly app_version?: string | null;
            readonly attributes?: {
                readonly [key: string]: null | components["schemas"]["Value"];
            };
            readonly country?: string | null;
            readonly device: components["schemas"]["DeviceId"];
            readonly language?: string | null;
            readonly location?: null | components["schemas"]["Location"];
            readonly named_user?: string | null;
            readonly opt_in?: boolean;
            readonly platform?: string | null;
            readonly quiet_hours?: null | components["schemas"]["QuietHours"];
            readonly tags?: components["schemas"]["DeviceTags"];
            /** @description A time zone by its IANA name. */
            readonly time_zone?: string | null;
        };
        /** @description A key to make. It has a role or a grant at least. */
        readonly NewKeyFields: {
            /**
             * @description The apps that its roles are about. Without it they are about everything. Rights to queues,
             *     wallets and the node belong to no app: such a key holds them by grants.
             */
            readonly apps?: readonly components["schemas"]["AppName"][] | null;
            /**
             * @description Seconds for which it works. Without it, it has no end.
             * @example 2592000
             */
            readonly expires_in_s?: number | null;
            /**
             * @description Grants beside those of its roles: `VERB:RESOURCE`, and a limit where there is one.
             * @example [
             *       "queue.put:votes* 100/s"
             *     ]
             */
            readonly grants?: readonly components["schemas"]["GrantText"][];
            /**
             * @description Its name: 1 to 64 characters.
             * @example campaign service
             */
            readonly name: string;
            /** @description Its roles. */
            readonly roles?: readonly components["schemas"]["RoleWord"][];
        } | {
            readonly roles: unknown;
        } | {
            readonly grants: unknown;
        };
        /**
         * @description How a node stands in the cluster.
         * @enum {string}
         */
        readonly NodeState: "alive" | "draining" | "away";
        /** @description This process. */
        readonly NodeView: {
            /** @description Memory held. */
            readonly bytes_held: components["schemas"]["HeldSample"];
            /** @description The name of the cluster that it is a node of; none of a standalone server. */
            readonly cluster?: string | null;
            /** @description Devices with an open connection. */
            readonly connected: number;
            /** @description Its open listeners. */
            readonly listeners: readonly components["schemas"]["ListenerFact"][];
            /** @description Its event loops. */
            readonly loops: readonly components["schemas"]["LoopView"][];
            /** @description Its process id. */
            readonly pid: number;
            /** @description Sessions, of connected devices and of those away. */
            readonly sessions: number;
            /** @description Its shards. */
            readonly shards: readonly components["schemas"]["LiveShard"][];
            /**
             * @description `ready`, `draining` or `starting`.
             * @example ready
             */
            readonly state: string;
            /** @description Seconds since the HTTP port started. */
            readonly uptime_s: number;
            /** @description The server's version. */
            readonly version: string;
        };
        /**
         * @description A message to people. Texts may hold `{{name}}` and `{{name|text without a value}}`: a device's
         *     attribute or built-in field.
         */
        readonly NotificationFields: {
            /** @description What follows. */
            readonly body?: string | null;
            /** @description For the application: any JSON, whose strings are templates too. */
            readonly data?: unknown;
            /** @description What is different for devices of a language: `de` is also for `de-AT`, the longest one wins. */
            readonly languages?: {
                readonly [key: string]: components["schemas"]["WordsFields"];
            };
            /** @description What is different for devices of a platform; goes before languages. */
            readonly platforms?: {
                readonly [key: string]: components["schemas"]["WordsFields"];
            };
            /**
             * @description The first line.
             * @example {{first_name|Hello}}, doors open at eight
             */
            readonly title?: string | null;
        };
        readonly NumberOrDate: number | components["schemas"]["Date"];
        /** @description An occurrence, and the push that it made. */
        readonly OccurrenceReport: {
            /** @description When it was due. */
            readonly at: string;
            /** @description The push; none where it was skipped. */
            readonly push?: string | null;
        };
        /** @description What became of the one job that was named. */
        readonly OneOutcome: {
            readonly outcome: components["schemas"]["OutcomeWord"];
        };
        /** @description What an open answers: the account, or what became of each of several. */
        readonly Opened: components["schemas"]["AccountReport"] | components["schemas"]["OpenedAccounts"];
        /** @description What became of each account, in the order of the request. */
        readonly OpenedAccounts: {
            readonly results: readonly components["schemas"]["EachOpened"][];
        };
        /** @description Who opened a push. */
        readonly OpenedFields: {
            /** @description The device. */
            readonly device: components["schemas"]["DeviceId"];
        };
        /** @description What is opened: one account, or several under `accounts`. */
        readonly OpenFields: components["schemas"]["AccountFields"] | components["schemas"]["SeveralAccounts"];
        /** @description How a push is made. */
        readonly OptionsFields: {
            readonly cap?: components["schemas"]["CapFields"] | null;
            /**
             * @description A newer push with the same key takes the place of an older one that a device has not got yet.
             * @example score
             */
            readonly collapse_key?: string | null;
            /**
             * @description Seconds from its start: a device that comes later does not get it. By default as in the
             *     app's settings.
             * @example 3600
             */
            readonly expiry_s?: number | null;
            /** @description Per cent of the audience that is left out on purpose: 0 to 90. */
            readonly holdout_percent?: number | null;
            readonly pace?: components["schemas"]["PaceField"] | null;
            /** @description 0 to 9, 4 by default: of what a device is owed the highest comes first. */
            readonly priority?: number | null;
            /** @description 0: at most once, to devices that are connected. 1: at least once, kept until it expires; the default. */
            readonly qos?: number | null;
            readonly quiet_hours?: components["schemas"]["QuietField"] | null;
        };
        /** @description What became of each, in the order of the request. */
        readonly Outcomes: {
            readonly results: readonly components["schemas"]["EachOutcome"][];
        };
        /** @description How often something happened. */
        readonly OutcomeView: {
            /** @description The outcome. */
            readonly outcome: string;
            /** @description Times since the start. */
            readonly total: number;
        };
        /**
         * @description What became of a job.
         * @enum {string}
         */
        readonly OutcomeWord: "done" | "already" | "dead";
        /**
         * @description Whether an account may be overdrawn.
         * @enum {string}
         */
        readonly OverdraftWord: "never" | "allowed";
        /** @description The push that was clicked, and which part of it. */
        readonly OwnClickedFields: {
            /**
             * @description The part of the push, such as a button, by the app's own name for it.
             * @example buy
             */
            readonly action?: string | null;
            /**
             * @description Its id.
             * @example 000102030405060708090a0b0c0d0e0f
             */
            readonly push: string;
        };
        /** @description The fields of a device that it changes by itself. Fields that are left out stay. */
        readonly OwnDeviceFields: {
            /**
             * @description Attributes by name, where the app's setting `device_writable` names them; `null` takes one
             *     away.
             */
            readonly attributes?: Record<string, never>;
            /** @description Whether it wants pushes. */
            readonly opted_in?: boolean | null;
            /** @description Tags to add and to remove, where the app's setting `device_writable` names them. */
            readonly tags?: {
                readonly add?: readonly components["schemas"]["OwnTag"][];
                readonly remove?: readonly components["schemas"]["OwnTag"][];
            };
        };
        /** @description The device as it sees itself. */
        readonly OwnDeviceReport: {
            /** @description Its app. */
            readonly app: string;
            /** @description Its attributes by name. */
            readonly attributes: unknown;
            /** @description Its id. */
            readonly device: string;
            /** @description Whether it wants pushes. */
            readonly opted_in: boolean;
            /** @description Its tags. */
            readonly tags: readonly string[];
        };
        /** @description A page of the pushes that the device is owed. */
        readonly OwnInbox: {
            /** @description In the order in which the device gets them. A page ends early behind a megabyte of messages. */
            readonly inbox: readonly components["schemas"]["InboxMessageReport"][];
            /** @description `after` of the next page; none on the last one. */
            readonly next?: string | null;
        };
        /** @description The push that was opened. */
        readonly OwnOpenedFields: {
            /**
             * @description Its id.
             * @example 000102030405060708090a0b0c0d0e0f
             */
            readonly push: string;
        };
        /** @description The outcome of pushes that a device settles. */
        readonly OwnSettled: {
            /**
             * @description Those that it is not owed: settled or acknowledged before, over, or never its own. Nothing
             *     happened to them.
             */
            readonly not_owed: readonly string[];
            /** @description Those that the device was owed: they are delivered now. */
            readonly settled: readonly string[];
        };
        /** @description The pushes that the device has taken. */
        readonly OwnSettledFields: {
            /**
             * @description Their ids, 1 to 100.
             * @example [
             *       "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b"
             *     ]
             */
            readonly pushes: readonly string[];
        };
        readonly OwnTag: string;
        /** @description How fast a push goes out to connected devices. */
        readonly PaceField: "at_once" | {
            readonly per_second: number;
        } | {
            readonly over_s: number;
        };
        /** @description A job that was put. */
        readonly PlacedJob: {
            /** @description Whether its `dedup_id` (or the `Idempotency-Key`) was known, so that nothing was put. */
            readonly duplicate: boolean;
            /**
             * @description The job. For a duplicate, the one that was put first.
             * @example 18014398509481985
             */
            readonly id: string;
        };
        /** @description Jobs that were put, in the order of the request. */
        readonly PlacedJobs: {
            readonly jobs: readonly components["schemas"]["PlacedJob"][];
        };
        /** @description The answer to a put: one job, or several under `jobs`, as in the request. */
        readonly Placement: components["schemas"]["PlacedJob"] | components["schemas"]["PlacedJobs"];
        /** @description The name of a saved audience, or of a schedule of pushes. */
        readonly PlatformName: string;
        /** @description A page of pushes, newest first. */
        readonly PlatformPushPage: {
            /** @description `before` of the next page; none on the last one. */
            readonly next?: string | null;
            readonly pushes: readonly components["schemas"]["PlatformPushReport"][];
        };
        /** @description A push, and what became of it. */
        readonly PlatformPushReport: {
            /** @description When it was accepted (RFC 3339). */
            readonly accepted_at: string;
            /** @description From the start to the acknowledgement. */
            readonly acknowledged: components["schemas"]["PushLatency"];
            /**
             * @description Clicks on its actions: those that came with the name of one. At least the first 16 names are
             *     counted. Only where one push is shown.
             */
            readonly actions?: readonly components["schemas"]["PushAction"][] | null;
            /** @description Whose. */
            readonly app: string;
            /** @description Whom it is for. */
            readonly audience: unknown;
            readonly content?: components["schemas"]["ContentReport"] | null;
            /** @description How many devices stand where. */
            readonly counts: components["schemas"]["CountsReport"];
            /** @description The push. */
            readonly id: string;
            /**
             * @description Whether it is a live push: to devices that were connected, kept nowhere. Its counts go when
             *     the server stops.
             */
            readonly live: boolean;
            /** @description How it is made. */
            readonly options: components["schemas"]["OptionsFields"];
            /** @description The schedule that made it. */
            readonly schedule?: string | null;
            /** @description From the start to the write. */
            readonly sent: components["schemas"]["PushLatency"];
            /**
             * @description What happened in each second since the start, at most 600, then in each minute; only where
             *     one push is shown.
             */
            readonly series?: readonly components["schemas"]["PushSample"][] | null;
            /** @description When it started. */
            readonly started_at?: string | null;
            /**
             * @description `scheduled`, `sending`, `settled` (nobody is owed it any more) or `cancelled`.
             * @example settled
             */
            readonly status: string;
            /** @description The first line of it. Only with the right `push.payload`. */
            readonly title?: string | null;
            /** @description When it was to start. */
            readonly when: components["schemas"]["WhenField"];
        };
        /** @description What the charts of a new page begin with, one for each second. */
        readonly Point: {
            readonly at_ms: number;
            readonly connected: number;
            /** Format: double */
            readonly connects: number;
            /** Format: double */
            readonly deliveries: number;
            readonly latency: components["schemas"]["Latency"];
        };
        /** @description An audience to be previewed. */
        readonly PreviewFields: {
            /** @description As in a push. */
            readonly audience: components["schemas"]["PushAudience"];
            readonly pace?: components["schemas"]["PaceField"] | null;
            /** @description Device ids to show, 0 to 100; 10 by default. */
            readonly sample?: number | null;
        };
        /** @description How many an audience reaches, or a push to it: `matched` is the sum of those left out and of those reached. */
        readonly PreviewReport: {
            /** @description Of the rest: had their fill, by the push's cap or the app's. */
            readonly capped: number;
            /** @description What each clause matches by itself, and keeps out. */
            readonly clauses: readonly components["schemas"]["ClauseReport"][];
            /** @description Of those, connected now. */
            readonly connected: number;
            /** @description Registered devices. */
            readonly devices: number;
            /**
             * @description Matched devices that were evaluated. Fewer than `matched` where very many devices match a push whose texts need values: the
             *     counts below are then estimates from a random sample of this size.
             */
            readonly evaluated: number;
            /**
             * Format: double
             * @description How long the connected take at the given pace; none at once, where the network decides.
             */
            readonly expected_s?: number | null;
            /** @description Of the rest: held out of the push. */
            readonly held_out: number;
            /** @description Those that match. */
            readonly matched: number;
            /** @description Of those, by the first value that each lacks; the most frequent first, at most 20. */
            readonly missing_values: readonly components["schemas"]["MissingValueReport"][];
            /** @description Of the rest: a text of the push needs a value that they lack. */
            readonly no_value: number;
            /** @description Of the matched: not opted in, or revoked. */
            readonly opted_out: number;
            /** @description Of the rest: in their quiet hours now. A push with `quiet_hours` `skip` leaves them out, any other reaches them. */
            readonly quiet: number;
            /** @description Who would get it: matched, and not left out for any of these reasons. */
            readonly reached: number;
            /** @description Some of those reached. */
            readonly sample: readonly string[];
            /** @description How long a shard took to count, at most. */
            readonly took_us: number;
            /**
             * @description Why nobody would get it; missing where somebody would.
             * @example it would reach nobody: of 179 devices that match, 179 lack a value for `first_name`
             */
            readonly warning?: string | null;
        };
        /** @description The document that a failed request answers (RFC 9457), as `application/problem+json`. */
        readonly Problem: {
            /**
             * @description The stable code, for programs to compare.
             * @example HTTP-005
             */
            readonly code: string;
            /** @description What happened this time, and what to do. */
            readonly detail: string;
            /** @description The field of the body or the query parameter that is wrong. */
            readonly path?: string | null;
            /** @description Seconds to wait before another try, as in the header `Retry-After`. */
            readonly retry_after_s?: number | null;
            /** @description The HTTP status. */
            readonly status: number;
            /** @description The kind of error in words, the same each time. */
            readonly title: string;
            /** @description Where the code is explained. */
            readonly type: string;
        };
        /** @description A user property. */
        readonly PropertyField: {
            /** @description The name. */
            readonly name: string;
            /** @description The value. */
            readonly value: string;
        };
        /** @description A user property. */
        readonly PropertyReport: {
            readonly name: string;
            readonly value: string;
        };
        /** @description Messages to publish, in order. */
        readonly PublishBatchRequest: {
            /** @description 1 to 100 messages. */
            readonly messages: readonly components["schemas"]["PublishRequest"][];
        };
        /** @description The outcomes of the messages of a batch. */
        readonly PublishedBatch: {
            /** @description Messages that were published. */
            readonly accepted: number;
            /**
             * @description One for each message, in order. Repeat those that were not accepted in a request of their
             *     own.
             */
            readonly results: readonly components["schemas"]["BatchResult"][];
        };
        /** @description The outcome of a message that was published. */
        readonly PublishedMessage: {
            /**
             * @description Whether a subscription of this node may have matched; `false` where none did. Missing where
             *     the request repeats an earlier one.
             */
            readonly matched?: boolean | null;
            /** @description Whether it is the topic's retained message now, or removed that. */
            readonly retained: boolean;
            /**
             * @description `accepted`.
             * @example accepted
             */
            readonly status: string;
            /**
             * @description Where to.
             * @example chat/lobby
             */
            readonly topic: string;
        };
        /**
         * @description A message to publish. At most one of `payload` and `payload_base64` is given; without either the
         *     payload is empty.
         */
        readonly PublishRequest: {
            /** @description The MIME type, for MQTT 5 subscribers. */
            readonly content_type?: string | null;
            /** @description The correlation data that an answer is to repeat, as base64, for MQTT 5 subscribers. */
            readonly correlation_data_base64?: string | null;
            /**
             * @description Seconds after which nobody is sent it any more. Without it, it never expires.
             * @example 3600
             */
            readonly expiry_s?: number | null;
            /**
             * @description The payload. A string is sent as its UTF-8 text; anything else as the JSON text given, with
             *     the content type `application/json` unless another is named.
             */
            readonly payload?: unknown;
            /** @description The payload as base64, for bytes that are not text. */
            readonly payload_base64?: string | null;
            /**
             * @description 0: at most once. 1: at least once, and the answer waits until it is durable for subscribers
             *     whose sessions persist; the default.
             * @default 1
             */
            readonly qos: number | null;
            readonly response_topic?: components["schemas"]["TopicField"] | null;
            /** @description `true`: it becomes the topic's retained message; with an empty payload it removes that. */
            readonly retain?: boolean;
            /** @description Where to. */
            readonly topic: components["schemas"]["TopicField"];
            /** @description Names and values for MQTT 5 subscribers, at most 32. */
            readonly user_properties?: readonly components["schemas"]["PropertyField"][];
        };
        /** @description How many retained messages were removed. */
        readonly PurgedRetained: {
            /** @description Where the next part begins: give it as `from`. Missing where nothing is left. */
            readonly next?: string | null;
            /** @description Messages that are there still, because a shard was busy or its disk full: ask again. */
            readonly refused: number;
            /** @description Messages that are gone, on disk too; with `dry_run` those that would be. */
            readonly removed: number;
        };
        /** @description Which jobs to take out of a queue. */
        readonly PurgeFields: {
            /**
             * @description `delayed`, `due`, `reserved`, `buried` or `dead`; all but reserved ones where none is named.
             * @example dead
             * @enum {string|null}
             */
            readonly state?: "delayed" | "due" | "reserved" | "buried" | "dead" | null;
        };
        /** @description Clicks on one action of a push, such as a button. */
        readonly PushAction: {
            /**
             * @description The action, as devices name it.
             * @example buy
             */
            readonly action: string;
            /** @description The devices whose first click it was. */
            readonly clicks: number;
        };
        /**
         * @description A device, a saved audience, or a selector.
         * @example {
         *       "tag": "vip"
         *     }
         */
        readonly PushAudience: {
            readonly saved: components["schemas"]["PlatformName"];
        } | components["schemas"]["Selector"];
        /**
         * @description A push to be made: `audience`, and a `notification` or a `message` that is forwarded as it is.
         *     Of an edit: the fields that change; fields that are left out stay.
         */
        readonly PushFields: {
            /** @description `{"device": "phone-7"}`, `{"saved": "vips"}`, or a selector such as `"all"`, `{"tag": "vip"}`, `{"and": [..]}`: docs/push-api.md. */
            readonly audience?: null | components["schemas"]["PushAudience"] | {
                readonly channel: components["schemas"]["ChannelField"];
            };
            /** @description The message's MIME type, sent to MQTT 5 devices. */
            readonly content_type?: string | null;
            /**
             * @description Any 128 bits, as 32 hexadecimal digits or a UUID. The same id with the same content again gets the first answer. Made of the
             *     header `Idempotency-Key` where it is left out; a new one where that is left out too.
             */
            readonly id?: null | components["schemas"]["Id128"];
            /**
             * @description `true`: a live push, to devices that are connected now. Nothing of it is on disk, and nobody
             *     gets it later. The `audience` may then also be `{"channel": "news"}`: subscribers of a
             *     channel.
             */
            readonly live?: boolean;
            /**
             * @description Forwarded as it is. A string is sent as its UTF-8 text; anything else as the JSON text
             *     given, with the content type `application/json` unless another is named.
             */
            readonly message?: unknown;
            /** @description The message as base64, for bytes that are not text. */
            readonly message_base64?: string | null;
            readonly notification?: components["schemas"]["NotificationFields"] | null;
            /** @description How. */
            readonly options?: components["schemas"]["OptionsFields"];
            /** @description Names and values sent to MQTT 5 devices with a message, at most 32. */
            readonly user_properties?: readonly components["schemas"]["PropertyField"][];
            readonly when?: components["schemas"]["WhenField"] | null;
        };
        /** @description A distribution of milliseconds; all 0 when `count` is. */
        readonly PushLatency: {
            /** @description Deliveries it describes. */
            readonly count: number;
            /** @description The first. */
            readonly first_ms: number;
            /** @description The last. */
            readonly last_ms: number;
            /** @description Half took at most this. */
            readonly p50_ms: number;
            /** @description 99 in 100. */
            readonly p99_ms: number;
        };
        /** @description Pushes, the newest first. */
        readonly PushList: {
            readonly pushes: readonly components["schemas"]["PushView"][];
        };
        /** @description A push to hand over. Exactly one of `message` and `message_base64` is given. */
        readonly PushRequest: {
            /** @description The MIME type, sent to MQTT 5 devices. */
            readonly content_type?: string | null;
            /**
             * @description Seconds after which a device that was away does not get it any more. Without it, it never
             *     expires.
             * @example 3600
             */
            readonly expiry_s?: number | null;
            /**
             * @description The message. A string is sent as its UTF-8 text; anything else as the JSON text given, with
             *     the content type `application/json` unless another is named.
             */
            readonly message?: unknown;
            /** @description The message as base64, for bytes that are not text. */
            readonly message_base64?: string | null;
            /**
             * @description 0: at most once. 1: at least once, acknowledged by each device; the default.
             * @default 1
             */
            readonly qos: number | null;
            /** @description Who gets it. */
            readonly to: components["schemas"]["To"];
            /** @description Names and values sent to MQTT 5 devices, at most 32. */
            readonly user_properties?: readonly components["schemas"]["PropertyField"][];
        };
        /** @description What happened in a second or a minute. */
        readonly PushSample: {
            /** @description Acknowledged. */
            readonly acknowledged: number;
            /** @description Clicked. */
            readonly clicked: number;
            /** @description Its beginning, seconds from the start of the push. */
            readonly from_s: number;
            /** @description Opened. */
            readonly opened: number;
            /** @description Written. */
            readonly sent: number;
        };
        /** @description A push at certain times. */
        readonly PushScheduleFields: {
            /**
             * @description Minute, hour, day of month, month, day of week; also `@daily` and the like.
             * @example 0 9 * * MON-FRI
             */
            readonly cron: string;
            readonly missed?: components["schemas"]["MissedField"] | null;
            /** @description What is made: a push without `id` and `when`. */
            readonly push: components["schemas"]["PushFields"];
            /**
             * @description An IANA time zone, or `local` for each device's own clock; `UTC` by default.
             * @example Europe/Berlin
             */
            readonly time_zone?: string | null;
        };
        /** @description A schedule, and what it did. */
        readonly PushScheduleReport: {
            /** @description Minute, hour, day of month, month, day of week. */
            readonly cron: string;
            /** @description Its last ones, newest first, at most 20. */
            readonly last: readonly components["schemas"]["OccurrenceReport"][];
            /** @description Occurrences that made a push. */
            readonly made: number;
            /** @description What becomes of an occurrence that was missed. */
            readonly missed: components["schemas"]["MissedField"];
            /** @description Its name. */
            readonly name: string;
            /** @description Its next occurrences, at most 5; those of a local one by a clock in UTC. */
            readonly next: readonly string[];
            /** @description Whether it makes nothing until it is resumed. */
            readonly paused: boolean;
            /** @description What it makes. */
            readonly push: components["schemas"]["ScheduledReport"];
            /** @description Occurrences that were skipped. */
            readonly skipped: number;
            /** @description An IANA time zone, or `local`. */
            readonly time_zone: string;
        };
        /** @description The schedules of an app, by name. */
        readonly PushSchedules: {
            readonly schedules: readonly components["schemas"]["PushScheduleReport"][];
        };
        /** @description How far a push has come. Counts are deliveries; `..._ms` count from `accepted_at`. */
        readonly PushView: {
            /** @description When it was accepted (RFC 3339). */
            readonly accepted_at: string;
            /** @description Acknowledged by a device; 0 at QoS 0. */
            readonly acknowledged: number;
            /** @description From acceptance to the acknowledgement. */
            readonly acknowledged_latency: components["schemas"]["SummaryView"];
            /** @description The event loops are still finding devices: `targeted` and `not_connected` grow. */
            readonly counting: boolean;
            /** @description Given up for another reason. */
            readonly dropped: number;
            /** @description Given up because it expired. */
            readonly expired: number;
            /**
             * Format: double
             * @description The first acknowledgement.
             */
            readonly first_acknowledged_ms?: number | null;
            /**
             * Format: double
             * @description The first write to a socket.
             */
            readonly first_sent_ms?: number | null;
            /**
             * @description The push.
             * @example 0190a1b2c3d47e5f8a9b0c1d2e3f4a5b
             */
            readonly id: string;
            /**
             * Format: double
             * @description The last acknowledgement.
             */
            readonly last_acknowledged_ms?: number | null;
            /**
             * Format: double
             * @description The last write to a socket.
             */
            readonly last_sent_ms?: number | null;
            /** @description Devices that were not connected. */
            readonly not_connected: number;
            /** @description Bytes of one message. */
            readonly payload_bytes: number;
            /** @description 0 or 1. */
            readonly qos: number;
            /** @description Of those, kept for their return. */
            readonly queued: number;
            /** @description Written to a device's socket. */
            readonly sent: number;
            /** @description From acceptance to the write. */
            readonly sent_latency: components["schemas"]["SummaryView"];
            /**
             * @description `accepted`, `sending` or `settled`.
             * @example settled
             */
            readonly status: string;
            /** @description Devices found for it: so far, while `counting`. */
            readonly targeted: number;
            /** @description Who it is for. */
            readonly to: components["schemas"]["AudienceView"];
        };
        /** @description What is put: one job, or several under `jobs`. */
        readonly PutFields: components["schemas"]["JobFields"] | components["schemas"]["SeveralJobs"];
        /** @description A job that was put together with transfers. */
        readonly PutJob: {
            /** @description Whether its `dedup_id` was known, so that nothing was put. */
            readonly duplicate: boolean;
            /**
             * @description The job; none where its queue lives on another shard: it is on its way there, and gets its id when it arrives.
             * @example 18014398509481985
             */
            readonly id?: string | null;
        };
        /** @description A job and the queue that it goes to. */
        readonly QueuedFields: {
            /** @description The job, as in a put. */
            readonly job: components["schemas"]["JobFields"];
            /** @description The queue; made, with the usual settings, where there is none. */
            readonly queue: components["schemas"]["QueueName"];
        };
        /** @description A queue's name. */
        readonly QueueName: string;
        /** @description A page of the queues, by name. */
        readonly QueuePage: {
            /** @description `after` of the next page; none on the last one. */
            readonly next?: string | null;
            readonly queues: readonly components["schemas"]["QueueReport"][];
        };
        /** @description A queue: its figures and its settings. */
        readonly QueueReport: {
            /** @description Jobs by where they stand. */
            readonly jobs: components["schemas"]["JobCounts"];
            /**
             * @description Its name.
             * @example mails
             */
            readonly name: string;
            /** @description When the oldest job that is due became due. */
            readonly oldest_due_at?: string | null;
            /** @description Whether nothing is handed out until it is resumed. */
            readonly paused: boolean;
            /** @description How it behaves. */
            readonly settings: components["schemas"]["QueueSettingsView"];
            /** @description Since the queue was made. */
            readonly totals: components["schemas"]["QueueTotals"];
            /** @description Consumers that wait for a job now. */
            readonly waiting: number;
        };
        /** @description How a queue behaves. */
        readonly QueueSettingsView: {
            /** @description Attempts before a job is dead. */
            readonly attempts_max: number;
            /** @description Delays between attempts. */
            readonly backoff: components["schemas"]["BackoffView"];
            /** @description Where dead jobs go: `keep`, `discard`, or `{"queue": NAME}`. */
            readonly dead_letter: components["schemas"]["DeadLetterView"];
            /** @description How long dead jobs are kept. */
            readonly dead_ttl_ms: number;
            /** @description How long a `dedup_id` is remembered where the put does not state it. */
            readonly dedup_window_ms: number;
            /** @description Jobs that it holds at most. */
            readonly jobs_max: number;
            readonly key_limit?: components["schemas"]["LimitView"] | null;
            /** @description How long a worker has for a job, unless it asks for another time. */
            readonly lease_ms: number;
            readonly limit?: components["schemas"]["LimitView"] | null;
            /** @description Whether it lives on one shard, in strict order, or on all of them. */
            readonly spread: components["schemas"]["SpreadWord"];
        };
        /** @description What happened in a queue since it was made. */
        readonly QueueTotals: {
            /** @description Jobs that died. */
            readonly died: number;
            /** @description Puts of a `dedup_id` that was known. */
            readonly duplicates: number;
            /** @description Jobs handed out, each attempt counted. */
            readonly handed_out: number;
            /** @description Jobs put. */
            readonly put: number;
            /** @description Attempts that ended in another try: released, or the lease ran out. */
            readonly retried: number;
            /** @description Jobs done, forwarded ones included. */
            readonly settled: number;
        };
        /**
         * @description What becomes of devices in their quiet hours.
         * @enum {string}
         */
        readonly QuietField: "wait" | "skip" | "ignore";
        readonly QuietHours: {
            readonly from: string;
            readonly to: string;
        };
        /** @description Events in one second. */
        readonly Rates: {
            /**
             * Format: double
             * @description Deliveries that devices acknowledged.
             */
            readonly acknowledgements: number;
            /**
             * Format: double
             * @description Bytes read from devices.
             */
            readonly bytes_in: number;
            /**
             * Format: double
             * @description Bytes written to devices.
             */
            readonly bytes_out: number;
            /**
             * Format: double
             * @description Connections that closed.
             */
            readonly closes: number;
            /**
             * Format: double
             * @description Devices that connected.
             */
            readonly connects: number;
            /**
             * Format: double
             * @description Messages written to devices' sockets.
             */
            readonly deliveries: number;
            /**
             * Format: double
             * @description Messages given up.
             */
            readonly drops: number;
            /**
             * Format: double
             * @description Messages that devices published.
             */
            readonly publishes_in: number;
        };
        /** @description Which dead jobs are tried again, and where. */
        readonly RedriveFields: {
            /** @description These, 1 to 1,000. */
            readonly jobs?: readonly components["schemas"]["JobId"][] | null;
            /** @description The oldest, at most so many, 1 to 1,000; 1,000 where neither is given. */
            readonly max?: number | null;
            /** @description Into another queue than the one they died in. */
            readonly to?: null | components["schemas"]["QueueName"];
        };
        /** @description A device, and how it stands. */
        readonly RegisteredDevice: {
            readonly app_version?: string | null;
            readonly attributes: Record<string, never>;
            /** @description Whether it is connected. */
            readonly connected: boolean;
            /** @description Its connection: the loop, and the number there. */
            readonly connection?: string | null;
            readonly country?: string | null;
            /** @description Its id. */
            readonly device: components["schemas"]["DeviceId"];
            /** @description Whether it has an MQTT password of its own. */
            readonly has_credential: boolean;
            /** @description What it is owed, in the order in which it gets it; only where one device is shown. */
            readonly inbox?: readonly unknown[] | null;
            readonly language?: string | null;
            /** @description When it was connected last. */
            readonly last_seen?: string | null;
            /** @description The static lists that it is on. */
            readonly lists: readonly string[];
            /** @description Since when it is at its location, as far as that is known (RFC 3339). */
            readonly located_at?: string | null;
            readonly location?: null | components["schemas"]["Location"];
            readonly named_user?: string | null;
            /** @description The newest pushes that were for it or left it out; only where one device is shown. */
            readonly newest?: readonly unknown[] | null;
            readonly opt_in: boolean;
            /** @description How many deliveries it is owed, at most 100 are counted. */
            readonly owed?: number;
            readonly platform?: string | null;
            readonly quiet_hours?: null | components["schemas"]["QuietHours"];
            /** @description When it was registered. */
            readonly registered_at: string;
            /** @description Whether it may not connect. */
            readonly revoked: boolean;
            readonly tags: readonly string[];
            readonly time_zone?: string | null;
        };
        /** @description A page of devices, by id. */
        readonly RegisteredDevicePage: {
            readonly devices: readonly components["schemas"]["RegisteredDevice"][];
            /** @description `after` of the next page; none on the last one. */
            readonly next?: string | null;
        };
        /** @description When a job is tried again. Without `delay_ms` after the queue's back-off for this attempt. */
        readonly ReleaseFields: {
            /** @description Tried again so many milliseconds from now. */
            readonly delay_ms?: number | null;
            /**
             * @description What went wrong, for the history: at most 1,024 bytes.
             * @example smtp: 451 try again later
             */
            readonly error?: string | null;
            /** @description The worker never began: the attempt does not count. */
            readonly not_tried?: boolean;
        };
        /** @description As `ReleaseFields`, for several leases. */
        readonly ReleaseManyFields: {
            /** @description Tried again so many milliseconds from now. */
            readonly delay_ms?: number | null;
            /** @description What went wrong, for the history: at most 1,024 bytes. */
            readonly error?: string | null;
            /** @description What was reserved, 1 to 1,000. */
            readonly leases: readonly components["schemas"]["LeaseId"][];
            /** @description The worker never began: the attempts do not count. */
            readonly not_tried?: boolean;
        };
        /** @description What became of the devices that a request removed. */
        readonly RemovedRegisteredDevices: {
            /** @description `after` of the next request; none where no more devices match. */
            readonly next?: string | null;
            /** @description Devices that are forgotten now and were not before. */
            readonly removed: number;
        };
        /** @description The texts that a device would get. */
        readonly RenderedReport: {
            /** @description Its body. */
            readonly body?: string | null;
            /** @description Its data for the application. */
            readonly data?: unknown;
            /**
             * @description The device.
             * @example phone-7
             */
            readonly device: string;
            /** @description The value that it lacks and the texts need: it would be left out. */
            readonly missing?: string | null;
            /**
             * @description Its title.
             * @example Hello Ada
             */
            readonly title?: string | null;
        };
        /** @description Requests of devices to services. */
        readonly RequestsView: {
            /** @description Answers dropped: the device was gone or had not subscribed. */
            readonly answers_dropped_total: number;
            /** @description Answers given to devices. */
            readonly answers_total: number;
            /** @description Requests whose answer has not left. */
            readonly in_flight: number;
            /** @description Requests refused as busy, or because there is no such service. */
            readonly refused_total: number;
            /** @description Requests taken. */
            readonly taken_total: number;
        };
        /** @description A job to work on until its lease ends. */
        readonly ReservedJob: {
            /** @description Which attempt this is, from 1. */
            readonly attempt: number;
            /** @description When it was due. */
            readonly due_at: string;
            /**
             * @description The job.
             * @example 18014398509481985
             */
            readonly id: string;
            /** @description The key of its order and share. */
            readonly key?: string | null;
            /**
             * @description The right to work on it: settle, release, extend, bury or forward it under this name.
             * @example 18014398509481985-1
             */
            readonly lease: string;
            /** @description When the lease ends; then the job is tried again. */
            readonly lease_until: string;
            /** @description The payload, where it is UTF-8 text. */
            readonly payload?: string | null;
            /** @description The payload otherwise. */
            readonly payload_base64?: string | null;
            /** @description 0 to 9, 9 first. */
            readonly priority: number;
            /** @description When it was put. */
            readonly put_at: string;
        };
        /** @description Jobs to work on; none where nothing became due in time. */
        readonly ReservedJobs: {
            readonly jobs: readonly components["schemas"]["ReservedJob"][];
        };
        /** @description How many jobs to reserve, for how long, for whom. */
        readonly ReserveFields: {
            /** @description How long the worker has for them; the queue's own time by default. */
            readonly lease_ms?: number | null;
            /** @description At most so many jobs, 1 to 1,000; 1 by default. */
            readonly max?: number | null;
            /** @description How long to wait for a first job where none is due, at most 60,000; not at all by default. */
            readonly wait_ms?: number | null;
            /**
             * @description Who works on them, for the history.
             * @example mailer-3
             */
            readonly worker?: string | null;
        };
        /** @description A page of retained messages. */
        readonly RetainedList: {
            /** @description In order of their topics' bytes. A page may be short, or empty, and not be the last one. */
            readonly messages: readonly components["schemas"]["RetainedView"][];
            /**
             * @description Where the next page begins: give it as `from`. Missing on the last page. A topic of more
             *     than a request's head carries, 16 KiB in percent-encoding, cannot be given.
             */
            readonly next?: string | null;
        };
        /** @description A retained message, without its payload. */
        readonly RetainedView: {
            /**
             * @description Bytes for which it counts in the bounds and quotas: topic, properties, payload and its
             *     entry.
             */
            readonly bytes: number;
            /** @description When it expires (RFC 3339). Missing where it does not. */
            readonly expires_at?: string | null;
            /** @description Bytes of its payload. */
            readonly payload_bytes: number;
            /**
             * @description The principal whose device set it, and whose quota it counts for; empty for anonymous
             *     devices. Missing for messages of the server's own, and of versions that did not keep it.
             */
            readonly principal?: string | null;
            /** @description The QoS that it was published with. */
            readonly qos: number;
            /** @description When it was set (RFC 3339). Missing for messages of versions that did not keep it. */
            readonly set_at?: string | null;
            /**
             * @description Its topic.
             * @example uplink/seat-0042/state
             */
            readonly topic: string;
        };
        /**
         * @description A named list of grants.
         * @enum {string}
         */
        readonly RoleWord: "viewer" | "sender" | "bookkeeper" | "worker" | "operator" | "admin";
        /** @description A seal: its root fixes all records of its shard's chain before it. */
        readonly RootReport: {
            /** @description The seal's number in it, from 1, one higher each time. */
            readonly number: number;
            /** @description Records of its period. */
            readonly records: number;
            /** @description SHA-256, in hexadecimal digits. Keep it elsewhere: receipts are checked against it. */
            readonly root: string;
            /** @description When it was made. */
            readonly sealed_at: string;
            /** @description Which shard's chain. */
            readonly shard: number;
        };
        /** @description Roots of the shards' hash chains. */
        readonly Roots: {
            readonly roots: readonly components["schemas"]["RootReport"][];
        };
        /** @description How a secret is replaced. */
        readonly RotateFields: {
            /**
             * @description Seconds for which the secret before works still: 86,400 by default, 30 days at most.
             * @default null
             */
            readonly overlap_s: number | null;
        };
        /** @description A rule: what it allows or denies, where, and to whom. The first rule that applies decides. */
        readonly RuleFields: {
            /**
             * @description Actions that it allows, `publish` and `subscribe`; or else `deny`.
             * @example [
             *       "subscribe"
             *     ]
             */
            readonly allow?: readonly string[];
            /** @description Actions that it denies. */
            readonly deny?: readonly string[];
            /**
             * @description Only for clients in one of these groups.
             * @example [
             *       "staff"
             *     ]
             */
            readonly groups?: readonly string[];
            /** @description `true`: for publishing with RETAIN only; `false`: without RETAIN only. */
            readonly retain?: boolean | null;
            /**
             * @description Topic filters, at least one; `%u` stands for the principal, `%c` for the client identifier.
             * @example [
             *       "plant/#"
             *     ]
             */
            readonly topics: readonly string[];
            /** @description Only for these principals; for all where it is empty. */
            readonly users?: readonly string[];
            /**
             * @description Only for identities that were proved in one of these ways: `anonymous`, `password`, `token`,
             *     `certificate`, `callback`, `registry`.
             */
            readonly via?: readonly string[];
        };
        /** @description All rules, in their order. */
        readonly RulesFields: {
            /** @description The rules. An empty list denies everything. */
            readonly rules: readonly components["schemas"]["RuleFields"][];
        };
        /** @description The rules in force. */
        readonly RulesView: {
            /** @description The file of the server that they are in. Missing for the default rules, and in trial mode. */
            readonly file?: string | null;
            /** @description The rules, in their order. */
            readonly rules: readonly components["schemas"]["RuleFields"][];
            /** @description Whether everything is allowed, because the server is in trial mode and has no rules file. */
            readonly trial: boolean;
        };
        /** @description What the live view shows: one second of the fleet. */
        readonly Sample: {
            /** @description When it was taken, milliseconds since 1970. */
            readonly at_ms: number;
            /** @description Logins refused, by reason. */
            readonly auth_failures: readonly components["schemas"]["TallySample"][];
            /** @description Memory held. */
            readonly bytes_held: components["schemas"]["HeldSample"];
            /** @description Connections closed, by reason. */
            readonly closes: readonly components["schemas"]["TallySample"][];
            /** @description Devices with an open connection. */
            readonly connected: number;
            /** @description CONNECT packets answered with success since the start. */
            readonly connects_total: number;
            /** @description Messages written to devices' sockets since the start. */
            readonly deliveries_total: number;
            /** @description Messages given up, by reason. */
            readonly drops: readonly components["schemas"]["TallySample"][];
            /** @description Latency of the deliveries of this second. */
            readonly latency: components["schemas"]["Latency"];
            /** @description The event loops. */
            readonly loops: readonly components["schemas"]["LoopSample"][];
            /** @description What happened in a second. */
            readonly per_s: components["schemas"]["Rates"];
            readonly push?: components["schemas"]["PushView"] | null;
            /** @description Pushes taken over since the start. */
            readonly pushes_total: number;
            /** @description Retained messages. */
            readonly retained: number;
            /** @description Sessions, of connected devices and of those away. */
            readonly sessions: number;
            /** @description `ready`, `draining` or `starting`. */
            readonly state: string;
            /** @description Subscriptions of all sessions. */
            readonly subscriptions: number;
            /** @description Seconds since the HTTP port started. */
            readonly uptime_s: number;
            /** @description The server's version. */
            readonly version: string;
        };
        /** @description The job that a schedule puts, in the fields of a put. */
        readonly ScheduledJob: {
            /** @description Attempts before it is dead. */
            readonly attempts_max: number;
            /** @description The key of its order and share. */
            readonly key?: string | null;
            /**
             * @description The payload, where it is UTF-8 text. Left out without the right `queue.payload`, and where
             *     those of the schedules before it exceed 4 MiB.
             */
            readonly payload?: string | null;
            /** @description The payload otherwise. */
            readonly payload_base64?: string | null;
            /** @description 0 to 9, 9 first. */
            readonly priority: number;
            /** @description Gone by itself when it is not settled so many milliseconds after it was put. */
            readonly ttl_ms?: number | null;
        };
        /** @description What a schedule makes. */
        readonly ScheduledReport: components["schemas"]["ContentReport"] & {
            /** @description Whom it is for. */
            readonly audience: unknown;
            /** @description How. */
            readonly options: components["schemas"]["OptionsFields"];
        };
        /** @description A job that is put again and again. */
        readonly ScheduleFields: {
            /**
             * @description Five fields (minute, hour, day, month, weekday), or six with seconds first; or `@hourly`, `@daily`, ...
             * @example 0 20 * * FRI
             */
            readonly cron: string;
            /** @description The job; it names no `delay_ms`, `run_at` or `dedup_id`. */
            readonly job: components["schemas"]["JobFields"];
            /**
             * @description Handling of occurrences that passed while the server was down: `once`, `skip` or `all`;
             *     `once` by default.
             */
            readonly missed?: components["schemas"]["MissedWord"];
            /**
             * @description The zone that `cron` is read in, by its IANA name; `UTC` by default.
             * @example Europe/Berlin
             */
            readonly time_zone?: string | null;
        };
        /** @description A schedule as it stands. */
        readonly ScheduleReport: {
            /** @description When it puts. */
            readonly cron: string;
            /** @description The job that it puts. */
            readonly job: components["schemas"]["ScheduledJob"];
            /** @description The last occurrence. */
            readonly last_at?: string | null;
            /** @description The job that was put then. */
            readonly last_job?: string | null;
            /** @description Handling of occurrences that passed while the server was down. */
            readonly missed: components["schemas"]["MissedWord"];
            /** @description Its name. */
            readonly name: string;
            /** @description The next occurrence; none where there is none. */
            readonly next_at?: string | null;
            /** @description The principal that made it, and so puts its jobs. */
            readonly principal?: string | null;
            /** @description The zone that `cron` is read in. */
            readonly time_zone: string;
        };
        /** @description The schedules of a queue, by name. */
        readonly Schedules: {
            readonly schedules: readonly components["schemas"]["ScheduleReport"][];
        };
        /**
         * @description Which devices: docs/audiences.md. An object is one clause.
         * @example {
         *       "and": [
         *         {
         *           "tag": "vip"
         *         },
         *         {
         *           "platform": "ios"
         *         }
         *       ]
         *     }
         */
        readonly Selector: "all" | {
            readonly group?: string;
            readonly tag: string;
        } | {
            readonly named_user: string;
        } | {
            readonly device: components["schemas"]["DeviceId"];
        } | {
            readonly devices: readonly components["schemas"]["DeviceId"][];
        } | {
            readonly list: components["schemas"]["ListName"];
        } | {
            readonly attribute: string;
            readonly equals: components["schemas"]["Value"];
        } | {
            readonly attribute: string;
            readonly not_equals: components["schemas"]["Value"];
        } | {
            readonly attribute: string;
            readonly contains: string;
        } | {
            readonly attribute: string;
            readonly within_s: number;
        } | {
            readonly attribute: string;
            readonly exists: boolean;
        } | {
            readonly after?: components["schemas"]["Moment"];
            readonly at_least?: components["schemas"]["NumberOrDate"];
            readonly at_most?: components["schemas"]["NumberOrDate"];
            readonly attribute: string;
            readonly before?: components["schemas"]["Moment"];
            readonly greater_than?: components["schemas"]["NumberOrDate"];
            readonly less_than?: components["schemas"]["NumberOrDate"];
        } | {
            readonly platform: string;
        } | {
            readonly app_version: string | {
                readonly at_least?: string;
                readonly at_most?: string;
                readonly equals?: string;
                readonly greater_than?: string;
                readonly less_than?: string;
            };
        } | {
            readonly language: string;
        } | {
            readonly country: string;
        } | {
            /** @description A time zone by its IANA name. */
            readonly time_zone: string;
        } | {
            readonly last_seen: components["schemas"]["Span"];
        } | {
            readonly registered: components["schemas"]["Span"];
        } | {
            readonly location: {
                readonly latitude: number;
                readonly longitude: number;
                readonly radius_m: number;
            };
        } | {
            readonly opted_in: boolean;
        } | {
            readonly and: readonly components["schemas"]["Selector"][];
        } | {
            readonly or: readonly components["schemas"]["Selector"][];
        } | {
            readonly not: components["schemas"]["Selector"];
        };
        /** @description The RPC server of this process. */
        readonly ServerView: {
            /** @description Open connections of callers. */
            readonly connections: number;
            /** @description Connections closed as they came, because there were too many. */
            readonly connections_refused_total: number;
            /** @description Requests that are being worked on. */
            readonly in_flight: number;
            /** @description How many may be worked on at once. */
            readonly limit: number;
            /**
             * Format: double
             * @description The load factor that callers are sent: 0 is idle, 1 is all that admission allows.
             */
            readonly load: number;
            /** @description Its methods. */
            readonly methods: readonly components["schemas"]["MethodView"][];
            /** @description Requests that wait for admission. */
            readonly queued: number;
            /** @description Open streams and channels. */
            readonly streams: number;
        };
        /** @description The services of this process, and how others are found. */
        readonly ServicesView: {
            readonly discovery?: components["schemas"]["DiscoveryView"] | null;
            /** @description Requests of devices to services. */
            readonly requests: components["schemas"]["RequestsView"];
            readonly server?: components["schemas"]["ServerView"] | null;
        };
        /**
         * @description A setting in force. No setting holds a secret itself: secrets are in files that settings name.
         *     Passwords within URLs are left out.
         */
        readonly SettingFact: {
            /** @description Its default. */
            readonly default: string;
            /**
             * @description The place that it comes from: `default`, a line of the file, a variable of the environment, a
             *     flag.
             * @example default
             */
            readonly from: string;
            /** @description Its purpose. */
            readonly help: string;
            /** @description Whether something has set it. */
            readonly is_set: boolean;
            /**
             * @description Its full name.
             * @example limits.connections_max
             */
            readonly name: string;
            /**
             * @description Its unit; empty where it has none.
             * @example connections
             */
            readonly unit: string;
            /**
             * @description Its value, as the file spells it.
             * @example 100000
             */
            readonly value: string;
        };
        /** @description A queue's settings. A setting that is left out gets its default, which `GET` of the queue shows. */
        readonly SettingsFields: {
            /** @description Attempts before a job is dead: 1 to 1,000; 10. */
            readonly attempts_max?: number | null;
            readonly backoff?: components["schemas"]["BackoffFields"] | null;
            readonly dead_letter?: components["schemas"]["DeadLetterFields"] | null;
            /** @description How long dead jobs are kept; 14 days. */
            readonly dead_ttl_ms?: number | null;
            /** @description How long a `dedup_id` is remembered where the put does not state it; 1 hour. */
            readonly dedup_window_ms?: number | null;
            /** @description Jobs that it holds at most, whatever their state; 10,000,000. A put beyond it gets 429. */
            readonly jobs_max?: number | null;
            readonly key_limit?: components["schemas"]["LimitFields"] | null;
            /** @description How long a worker has for a job: 1,000 to 43,200,000; 30,000. */
            readonly lease_ms?: number | null;
            readonly limit?: components["schemas"]["LimitFields"] | null;
            readonly spread?: components["schemas"]["SpreadWord"] | null;
        };
        /** @description Leases to settle. */
        readonly SettleFields: {
            /** @description What was reserved, 1 to 1,000. */
            readonly leases: readonly components["schemas"]["LeaseId"][];
        };
        /** @description Several accounts, each with an outcome of its own. */
        readonly SeveralAccounts: {
            /** @description 1 to 1,000. */
            readonly accounts: readonly components["schemas"]["AccountFields"][];
        };
        /** @description Several jobs: all of them are put, or none. */
        readonly SeveralJobs: {
            /** @description 1 to 1,000. */
            readonly jobs: readonly components["schemas"]["JobFields"][];
        };
        /**
         * @description Something that is wrong with a shard.
         * @enum {string}
         */
        readonly ShardProblem: "no_owner" | "few_standbys" | "one_zone" | "not_assigned" | "unreadable";
        /** @description How many shards have a problem. */
        readonly ShardProblems: {
            /** @description Fewer standbys are in step than there are to be. */
            readonly few_standbys: number;
            /** @description No node that is alive is recorded as owner: the shard takes no commands. */
            readonly no_owner: number;
            /** @description The map has no entry for the shard. */
            readonly not_assigned: number;
            /** @description All replicas are in one zone, and the cluster has others. */
            readonly one_zone: number;
            /** @description The map's entry cannot be read. */
            readonly unreadable: number;
        };
        readonly Span: {
            readonly within_s: number;
        } | {
            readonly after?: components["schemas"]["Moment"];
            readonly before?: components["schemas"]["Moment"];
        };
        /**
         * @description Whether a queue lives on one shard or on all.
         * @enum {string}
         */
        readonly SpreadWord: "one_shard" | "all_shards";
        /** @description How far a standby is behind the log. */
        readonly StandbyLag: {
            /**
             * @description Messages that it has not read, of those that the log had at most half a second ago. Missing
             *     until the log has told its end.
             */
            readonly messages?: number | null;
            /** @description Milliseconds since it was in step last, or began to follow. 0 while it is in step. */
            readonly ms: number;
        };
        /**
         * @description Whether a standby could own its shard.
         * @enum {string}
         */
        readonly StandbyState: "in_step" | "behind" | "away";
        /**
         * @description Where a job stands.
         * @enum {string}
         */
        readonly StateWord: "delayed" | "due" | "reserved" | "buried" | "dead";
        /** @description A capture, a void or a reversal of the transfer in the path. */
        readonly StepFields: {
            readonly amount?: components["schemas"]["AmountField"] | null;
            /**
             * Format: date-time
             * @description When it counts for the books (RFC 3339).
             */
            readonly effective_at?: string | null;
            /**
             * @description An id of its own. Without it and without an `Idempotency-Key` one is made of the id in the path, so that a repeated
             *     request is a duplicate.
             */
            readonly id?: null | components["schemas"]["Id128"];
            /** @description Anything, at most 1 KiB, as in a transfer. */
            readonly metadata?: unknown;
            /** @description The metadata as base64. */
            readonly metadata_base64?: string | null;
            /** @description What an outside system calls it; at most 128 bytes. */
            readonly reference?: string | null;
        };
        /** @description One thing that happened. */
        readonly StepReport: {
            /** @description The action of a click, such as a button. */
            readonly action?: string | null;
            /** @description When (RFC 3339). */
            readonly at: string;
            /** @description On which connection, where it was one. */
            readonly connection?: string | null;
            /** @description What: `accepted`, `scheduled`, `started`, `targeted`, `sent`, `acknowledged` ... */
            readonly what: string;
        };
        /** @description A subscription. */
        readonly SubscriptionView: {
            /**
             * @description The topic filter.
             * @example channels/news
             */
            readonly filter: string;
            /** @description The maximum QoS granted. */
            readonly qos: number;
        };
        /** @description A latency distribution in milliseconds. */
        readonly SummaryView: {
            /** @description Deliveries it describes; the rest is 0 when this is. */
            readonly count: number;
            /**
             * Format: double
             * @description The longest.
             */
            readonly max_ms: number;
            /**
             * Format: double
             * @description Half took at most this.
             */
            readonly p50_ms: number;
            /**
             * Format: double
             * @description Nine in ten.
             */
            readonly p90_ms: number;
            /**
             * Format: double
             * @description 99 in 100.
             */
            readonly p99_ms: number;
            /**
             * Format: double
             * @description 999 in 1,000.
             */
            readonly p999_ms: number;
        };
        readonly Tag: string | {
            readonly group?: string;
            readonly tag: string;
        };
        /** @description How often something happened for one reason. */
        readonly TallySample: {
            /**
             * Format: double
             * @description Times in this second.
             */
            readonly per_s: number;
            /** @description The reason. */
            readonly reason: string;
            /** @description Times since the start. */
            readonly total: number;
        };
        /** @description The streams that a ticket is to open. */
        readonly TicketFields: {
            /**
             * @description Seconds; 3,600 by default.
             * @example 3600
             */
            readonly expires_in_s?: number | null;
            /**
             * @description 1 to 16 topic filters.
             * @example [
             *       "chat/+"
             *     ]
             */
            readonly filters: readonly string[];
        };
        /** @description A ticket for streams. */
        readonly TicketReport: {
            /**
             * @description When it is over.
             * @example 2026-11-27T12:00:00.000Z
             */
            readonly expires_at: string;
            /**
             * @description The ticket.
             * @example tt_AQAAAABp...
             */
            readonly ticket: string;
            /**
             * @description The path that an EventSource opens, on this server.
             * @example /api/topics/stream?ticket=tt_AQAAAABp...
             */
            readonly url: string;
        };
        /**
         * @description Who gets a push: `{"device": "d1"}`, `{"devices": ["d1", "d2"]}`, `{"channel": "news"}`, or
         *     `"everybody"`.
         */
        readonly To: "everybody" | {
            readonly device: components["schemas"]["DeviceField"];
        } | {
            readonly devices: readonly components["schemas"]["DeviceField"][];
        } | {
            readonly channel: components["schemas"]["ChannelField"];
        };
        /** @description Transfers, jobs and pushes in one record: all of it or none. */
        readonly TogetherFields: {
            /** @description Jobs that are put with them. */
            readonly jobs?: readonly components["schemas"]["QueuedFields"][];
            /** @description Pushes that are made with them: each becomes a job of the queue `stadium.pushes`, which is worked on at once. */
            readonly pushes?: readonly components["schemas"]["PushRequest"][];
            /** @description 1 to 1,000, linked: their accounts, but for system wallets, live on one shard. */
            readonly transfers: readonly components["schemas"]["TransferFields"][];
        };
        /** @description What happened together. */
        readonly TogetherReport: {
            /** @description The jobs, in the order of the request. None where the transfers had been booked before. */
            readonly jobs: readonly components["schemas"]["PutJob"][];
            /** @description The jobs of the queue `stadium.pushes`, one for each push. */
            readonly pushes: readonly components["schemas"]["PutJob"][];
            /** @description The transfers, in the order of the request. */
            readonly transfers: readonly components["schemas"]["BookedTransfer"][];
        };
        /**
         * @description A topic name. Topics that begin with `$`, `me/` or `rpc/` are the server's own.
         * @example chat/lobby
         */
        readonly TopicField: string;
        /** @description A packet, or what became of a connection. */
        readonly TraceEvent: {
            /** @description When (RFC 3339). */
            readonly at: string;
            /**
             * @description The device's id; missing where none is concerned.
             * @example seat-0042
             */
            readonly device?: string | null;
            /**
             * @description `in` from the device, `out` to it, `none` where it is no packet.
             * @example in
             */
            readonly direction: string;
            /**
             * @description The packet in words, without payload and password.
             * @example PUBLISH topic=uplink/seat-0042/state qos=1 id=7 payload=12 bytes
             */
            readonly line: string;
            /** @description Lines before this one that the reader was too slow for; missing where there were none. */
            readonly missed?: number | null;
        };
        /** @description Why a device did or did not get a push. */
        readonly TraceReport: {
            /** @description The clause that did not match, the value that is missing, or the time that it waits for. */
            readonly detail?: string | null;
            /** @description The device. */
            readonly device: string;
            /** @description The push. */
            readonly push: string;
            /**
             * @description The answer in a sentence.
             * @example phone-7 did not get it: it was not connected until the push expired at 14:00 UTC.
             */
            readonly sentence: string;
            /**
             * @description `not_matched`, `owed`, `in_flight`, `delivered`, `expired` ...
             * @example expired
             */
            readonly state: string;
            /** @description What happened, oldest first, as far as it is remembered. */
            readonly steps: readonly components["schemas"]["StepReport"][];
        };
        /**
         * @description A transfer, at most once for its id. A `post` and a `hold` name `debit`, `credit`, `asset` and `amount`, a hold
         *     also `expires_after_ms`; a `capture`, a `void` and a `reverse` name in `of` what they concern.
         */
        readonly TransferFields: {
            readonly amount?: components["schemas"]["AmountField"] | null;
            /** @description Of what. */
            readonly asset?: null | components["schemas"]["AssetCode"];
            /** @description The wallet that gets it; another one. */
            readonly credit?: null | components["schemas"]["WalletName"];
            /** @description The wallet that the amount leaves. */
            readonly debit?: null | components["schemas"]["WalletName"];
            /**
             * Format: date-time
             * @description When it counts for the books (RFC 3339), where that is not when it is booked. Only shown and exported.
             */
            readonly effective_at?: string | null;
            /** @description A hold ends by itself so many milliseconds from now: 1,000 to 31,622,400,000. */
            readonly expires_after_ms?: number | null;
            /**
             * @description Any 128 bits, written as a UUID. The same id with the same content gives the first answer, with other content
             *     `WAL-026`. Made of the header `Idempotency-Key` where it is left out.
             */
            readonly id?: null | components["schemas"]["Id128"];
            /** @description The kind of transfer; `post` by default. */
            readonly kind?: components["schemas"]["KindWord"];
            /** @description Anything, at most 1 KiB. A string is kept as its UTF-8 text; anything else as the JSON text given. */
            readonly metadata?: unknown;
            /** @description The metadata as base64, for bytes that are not text. */
            readonly metadata_base64?: string | null;
            /** @description The hold that is captured or voided, or the transfer that is reversed. */
            readonly of?: null | components["schemas"]["Id128"];
            /**
             * @description What an outside system calls it, to find and reconcile it by; at most 128 bytes.
             * @example order-17
             */
            readonly reference?: string | null;
        };
        /** @description A transfer as it is remembered. */
        readonly TransferReport: {
            /** @description How much. */
            readonly amount: components["schemas"]["Amount"];
            /**
             * @description Of what.
             * @example EUR
             */
            readonly asset: string;
            /**
             * @description When it was booked. In the history of an account on another shard than the one that decided it: when that shard
             *     booked it, which is later than the time in the answer to the transfer.
             */
            readonly booked_at: string;
            /**
             * @description To whom.
             * @example @shop
             */
            readonly credit: string;
            /**
             * @description From whom.
             * @example alice
             */
            readonly debit: string;
            /** @description When it counts for the books, where its maker stated one. */
            readonly effective_at?: string | null;
            /**
             * Format: uuid
             * @description Its id.
             * @example 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
             */
            readonly id: string;
            /** @description What its maker wrote, where it is UTF-8 text. */
            readonly metadata?: string | null;
            /** @description What its maker wrote otherwise. */
            readonly metadata_base64?: string | null;
            /**
             * Format: uuid
             * @description The hold that it captured or voided, or the transfer that it reversed.
             */
            readonly of?: string | null;
            /**
             * @description The id of the principal that asked for it: an API key, a person, or the holder of a token or
             *     a certificate. None of a transfer that an older version booked.
             * @example k_0011223344556677
             */
            readonly principal?: string | null;
            /**
             * @description What an outside system calls it.
             * @example order-17
             */
            readonly reference?: string;
            /** @description What became of it; in a history what it was when it was booked. */
            readonly state: components["schemas"]["BookWord"];
        };
        readonly Value: string | number | components["schemas"]["Date"];
        /** @description A wallet's name. */
        readonly WalletName: string;
        /** @description A wallet: its accounts, one for each asset. */
        readonly WalletReport: {
            readonly accounts: readonly components["schemas"]["AccountReport"][];
            readonly wallet: string;
        };
        /** @description Where events are posted. */
        readonly Webhook: {
            /** @description `whsec_` and 24 to 64 bytes as base64 (Standard Webhooks); the one that the feed has where it is left out. */
            readonly secret?: string | null;
            /**
             * @description `https://` or `http://`.
             * @example https://crm.example.org/hooks/stadium
             */
            readonly url: string;
        };
        /** @description Where a feed is posted. */
        readonly WebhookReport: {
            readonly url: string;
        };
        /** @description A subscription that was made. */
        readonly WebPushSubscription: {
            /**
             * @description Where applications push to. Every holder of it may push, unless the subscription was made
             *     for a key.
             * @example https://push.example.org/wp/3q2-7w...
             */
            readonly endpoint: string;
            /**
             * @description Its number: the user property `subscription` of what the device gets over it.
             * @example 3q2-7wAB
             */
            readonly subscription: string;
        };
        /** @description What a subscription is made for. */
        readonly WebPushSubscriptionFields: {
            /**
             * @description The application server's public key (P-256, uncompressed, base64url): only pushes signed with it are taken. Without one, whoever has
             *     the endpoint may push.
             * @example BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8
             */
            readonly vapid_public_key?: string | null;
        };
        /** @description The numbers of a device's subscriptions. */
        readonly WebPushSubscriptions: {
            /**
             * @description Oldest first, at most 16.
             * @example [
             *       "3q2-7wAB"
             *     ]
             */
            readonly subscriptions: readonly string[];
        };
        /** @description When a push starts. */
        readonly WhenField: "now" | {
            readonly at: components["schemas"]["Moment"];
        } | {
            readonly local: string;
        };
        /** @description The texts of a variant; fields that it leaves out are as for everybody. */
        readonly WordsFields: {
            /** @description What follows. */
            readonly body?: string | null;
            /** @description For the application. */
            readonly data?: unknown;
            /** @description The first line. */
            readonly title?: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly list_apps: {
        readonly parameters: {
            readonly query?: {
                /** @description Only apps after this one: `next` of the page before. */
                readonly after?: components["schemas"]["AppName"];
                /** @description Apps on the page; 100 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of apps. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AppPage"];
                };
            };
        };
    };
    readonly find_app: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The app. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AppReport"];
                };
            };
        };
    };
    readonly declare_app: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description Small letters, digits, `.`, `_` and `-`; at most 64 bytes.
                 * @example matchday
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["AppFields"];
            };
        };
        readonly responses: {
            /** @description The app. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AppReport"];
                };
            };
        };
    };
    readonly drop_app: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The app. */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is forgotten. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_audiences: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The audiences. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AudienceList"];
                };
            };
        };
    };
    readonly save_audience: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /**
                 * @description Small letters, digits, `.`, `_` and `-`; at most 64 bytes.
                 * @example vips
                 */
                readonly name: components["schemas"]["PlatformName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["AudienceFields"];
            };
        };
        readonly responses: {
            /** @description It is saved. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AudienceReport"];
                };
            };
        };
    };
    readonly drop_audience: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The audience. */
                readonly name: components["schemas"]["PlatformName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is forgotten. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly preview_audience: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PreviewFields"];
            };
        };
        readonly responses: {
            /** @description Whom it reaches now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PreviewReport"];
                };
            };
        };
    };
    readonly list_registered_devices: {
        readonly parameters: {
            readonly query?: {
                /** @description Only devices after this one: `next` of the page before. */
                readonly after?: components["schemas"]["DeviceId"];
                /** @description Only devices that this selector means, as JSON. */
                readonly audience?: string;
                /** @description Devices on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only devices of this named user. */
                readonly named_user?: string;
                /** @description Only devices whose ids begin with this. */
                readonly prefix?: string;
                /** @description Only devices with this in their id, named user, platform, version, language, country, time zone, a tag or the text of an attribute; in any case. */
                readonly search?: string;
                /** @description Only devices that are `connected`, `away`, `opted_out` or `revoked`; `all` by default. */
                readonly state?: "all" | "connected" | "away" | "opted_out" | "revoked";
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of devices. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RegisteredDevicePage"];
                };
            };
        };
    };
    readonly change_registered_devices: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["DevicesFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ChangedDevices"];
                };
            };
        };
    };
    readonly remove_registered_devices: {
        readonly parameters: {
            readonly query?: {
                /** @description Only devices after this one: `next` of the answer before. */
                readonly after?: components["schemas"]["DeviceId"];
                /** @description Only devices that this selector means, as JSON; `"all"` for all. One of `prefix`, `named_user` and `audience` is needed. */
                readonly audience?: string;
                /** @description Devices removed at most; 1000 by default. */
                readonly limit?: number;
                /** @description Only devices of this named user. */
                readonly named_user?: string;
                /** @description Only devices whose ids begin with this. */
                readonly prefix?: string;
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description How many are forgotten, and whether there may be more. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RemovedRegisteredDevices"];
                };
            };
        };
    };
    readonly find_registered_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. One whose id is `import` or `export` is read under `%69mport`, `%65xport`. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The device. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RegisteredDevice"];
                };
            };
        };
    };
    readonly replace_registered_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /**
                 * @description At most 128 bytes, without `/`, `+`, `#` and control characters; percent-encoded.
                 * @example phone-7
                 */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["DeviceFields"];
            };
        };
        readonly responses: {
            /** @description It was known, and is now so. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RegisteredDevice"];
                };
            };
            /** @description It is registered. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RegisteredDevice"];
                };
            };
        };
    };
    readonly remove_registered_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is forgotten. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly change_registered_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /**
                 * @description The device, percent-encoded.
                 * @example phone-7
                 */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["DeviceFields"];
            };
        };
        readonly responses: {
            /** @description The device. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RegisteredDevice"];
                };
            };
        };
    };
    readonly issue_credential: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The secret; it cannot be seen again. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CredentialReport"];
                };
            };
        };
    };
    readonly withdraw_credential: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It has none. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly restore_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is not revoked. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly revoke_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is revoked. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly issue_device_token: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["DeviceTokenFields"];
            };
        };
        readonly responses: {
            /** @description The token; it cannot be seen again. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeviceToken"];
                };
            };
        };
    };
    readonly list_webpush: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The subscriptions, without their endpoints. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebPushSubscriptions"];
                };
            };
        };
    };
    readonly subscribe_webpush: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["WebPushSubscriptionFields"];
            };
        };
        readonly responses: {
            /** @description The endpoint; it cannot be seen again. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebPushSubscription"];
                };
            };
        };
    };
    readonly unsubscribe_webpush_all: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It has none. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly unsubscribe_webpush: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The device, percent-encoded. */
                readonly device: components["schemas"]["DeviceId"];
                /**
                 * @description Its number.
                 * @example 3q2-7wAB
                 */
                readonly subscription: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is over. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly export_devices: {
        readonly parameters: {
            readonly query?: {
                /** @description Only devices that this selector means, as JSON. */
                readonly audience?: string;
                /** @description `csv` or `ndjson`; `csv` by default. */
                readonly format?: "csv" | "ndjson";
                /** @description Only devices of this named user. */
                readonly named_user?: string;
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The devices, by id. */
            readonly 200: {
                headers: {
                    /** @description `attachment` with a file name. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/x-ndjson": string;
                    readonly "text/csv": string;
                };
            };
        };
    };
    readonly import_devices: {
        readonly parameters: {
            readonly query?: {
                /** @description `csv` or `ndjson`; `csv` by default. */
                readonly format?: "csv" | "ndjson";
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/x-ndjson": string;
                readonly "text/csv": string;
            };
        };
        readonly responses: {
            /** @description What became of it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ImportReport"];
                };
            };
        };
    };
    readonly add_to_list: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /**
                 * @description Letters, digits, `-`, `_` and `.`; at most 64 bytes.
                 * @example beta
                 */
                readonly name: components["schemas"]["ListName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ListFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ChangedDevices"];
                };
            };
        };
    };
    readonly remove_from_list: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The list. */
                readonly name: components["schemas"]["ListName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ListFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ChangedDevices"];
                };
            };
        };
    };
    readonly list_platform_pushes: {
        readonly parameters: {
            readonly query?: {
                /** @description Only pushes before this one: `next` of the page before. */
                readonly before?: string;
                /** @description Pushes on the page; 50 by default. */
                readonly limit?: number;
                /** @description `true`: live pushes alone; `false`: durable ones alone. */
                readonly live?: boolean;
                /** @description Only pushes with this in their id, schedule or audience, or in their title where the caller may see it; in any case. */
                readonly search?: string;
                /** @description Only pushes that are `scheduled`, `sending`, `settled` or `cancelled`; `all` by default. */
                readonly status?: "all" | "scheduled" | "sending" | "settled" | "cancelled";
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of pushes. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PlatformPushPage"];
                };
            };
        };
    };
    readonly send_push: {
        readonly parameters: {
            readonly query?: {
                /** @description Of a dry run: show the texts that this device would get, with its own values in them. Takes the right `device.read`. */
                readonly device?: components["schemas"]["DeviceId"];
                /** @description `true`: check it and preview its audience, push nothing. */
                readonly dry_run?: boolean;
            };
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request, best a UUID. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PushFields"];
            };
        };
        readonly responses: {
            /** @description It had been accepted before; or it was a dry run. */
            readonly 200: {
                headers: {
                    /** @description `true` where it had been accepted before. */
                    readonly "Idempotent-Replayed"?: string | null;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AcceptedPushReport"];
                };
            };
            /** @description It is accepted: on disk, or as a live push. */
            readonly 202: {
                headers: {
                    /** @description Where to see what becomes of it. */
                    readonly Location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AcceptedPushReport"];
                };
            };
        };
    };
    readonly find_platform_push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The push. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PlatformPushReport"];
                };
            };
        };
    };
    readonly edit_push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PushFields"];
            };
        };
        readonly responses: {
            /** @description The push. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PlatformPushReport"];
                };
            };
        };
    };
    readonly cancel_push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The push. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PlatformPushReport"];
                };
            };
        };
    };
    readonly push_clicked: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ClickedFields"];
            };
        };
        readonly responses: {
            /** @description It is noted. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_deliveries: {
        readonly parameters: {
            readonly query?: {
                /** @description Only devices after this one: `next` of the page before. */
                readonly after?: components["schemas"]["DeviceId"];
                /** @description `json`: a page, the default. `csv`, `ndjson`: all of them as a file. */
                readonly format?: "json" | "csv" | "ndjson";
                /** @description Of a page; 100 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The deliveries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeliveryPage"];
                    readonly "application/x-ndjson": string;
                    readonly "text/csv": string;
                };
            };
        };
    };
    readonly trace_push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /**
                 * @description The device, percent-encoded.
                 * @example phone-7
                 */
                readonly device: components["schemas"]["DeviceId"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The trace. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TraceReport"];
                };
            };
        };
    };
    readonly live_push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Events as text; the data of `push` is a `PlatformPushReport`. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly push_opened: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The push. */
                readonly push: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OpenedFields"];
            };
        };
        readonly responses: {
            /** @description It is noted. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_push_schedules: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The schedules, by name. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PushSchedules"];
                };
            };
        };
    };
    readonly set_push_schedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /**
                 * @description Small letters, digits, `.`, `_` and `-`; at most 64 bytes.
                 * @example morning-news
                 */
                readonly name: components["schemas"]["PlatformName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PushScheduleFields"];
            };
        };
        readonly responses: {
            /** @description It is on disk. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PushScheduleReport"];
                };
            };
        };
    };
    readonly end_push_schedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The schedule. */
                readonly name: components["schemas"]["PlatformName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It makes nothing any more. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly pause_push_schedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The schedule. */
                readonly name: components["schemas"]["PlatformName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is paused. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly resume_push_schedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The app.
                 * @example default
                 */
                readonly app: components["schemas"]["AppName"];
                /** @description The schedule. */
                readonly name: components["schemas"]["PlatformName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It goes on. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_assets: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The assets. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Assets"];
                };
            };
        };
    };
    readonly declare_asset: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description Upper-case letters, digits and `_`; at most 16 bytes.
                 * @example EUR
                 */
                readonly asset: components["schemas"]["AssetCode"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["AssetFields"];
            };
        };
        readonly responses: {
            /** @description The asset. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AssetReport"];
                };
            };
        };
    };
    readonly list_audit: {
        readonly parameters: {
            readonly query?: {
                /** @description How many; 100 by default. */
                readonly limit?: number;
                /** @description Only changes that were `made`, or `refused`; `all` by default. */
                readonly outcome?: "all" | "made" | "refused";
                /** @description Only entries with this in their key, name, role, address, route, path or code, in any case. The newest 10,000 entries are looked through. */
                readonly search?: string;
                /** @description Entries of the pages before. */
                readonly skip?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The entries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AuditEntries"];
                };
            };
        };
    };
    readonly cluster: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The cluster. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ClusterView"];
                };
            };
        };
    };
    readonly list_cluster_shards: {
        readonly parameters: {
            readonly query?: {
                /** @description Only shards behind this one: `next` of the page before. */
                readonly after?: number;
                /** @description At most so many; 100 by default. */
                readonly limit?: number;
                /** @description Only shards of which this node has a replica. */
                readonly node?: string;
                /** @description `troubled`: only shards with a problem. `moving`: only shards on their way. `all` by default. */
                readonly only?: "all" | "troubled" | "moving";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of shards. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ClusterShardPage"];
                };
            };
        };
    };
    readonly configuration: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The settings. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ConfigurationView"];
                };
            };
        };
    };
    readonly list_devices: {
        readonly parameters: {
            readonly query?: {
                /** @description Only ids after this one: `next` of the page before. */
                readonly after?: string;
                /** @description `true`: only connected devices; `false`: only those away. */
                readonly connected?: boolean;
                /** @description Devices on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only ids that begin so. */
                readonly prefix?: string;
                /** @description Only ids with this in them, in any case. */
                readonly search?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of devices. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeviceList"];
                };
            };
        };
    };
    readonly find_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The device's id, percent-encoded. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The device. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["DeviceView"];
                };
            };
        };
    };
    readonly disconnect_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The device's id, percent-encoded. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The connection is being closed. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_erasures: {
        readonly parameters: {
            readonly query?: {
                /** @description How many; 100 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The erasures. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ErasurePage"];
                };
            };
        };
    };
    readonly find_erasure: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description Of `Location`.
                 * @example 0c1d2e3f405162738495a6b7c8d9eafb
                 */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The erasure. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Erasure"];
                };
            };
        };
    };
    readonly forget_session_node: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description Its name, as in `waits_for`.
                 * @example stadium-3
                 */
                readonly node: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is out of the list. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly history: {
        readonly parameters: {
            readonly query?: {
                /** @description `hour` or `day`; `hour` by default. */
                readonly span?: "hour" | "day";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The points, the oldest first. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HistoryView"];
                };
            };
        };
    };
    readonly find_job: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The job's id. */
                readonly job: components["schemas"]["JobId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The job. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobReport"];
                };
            };
        };
    };
    readonly delete_job: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The job's id. */
                readonly job: components["schemas"]["JobId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is gone. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OneOutcome"];
                };
            };
        };
    };
    readonly edit_job: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The job's id. */
                readonly job: components["schemas"]["JobId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["EditFields"];
            };
        };
        readonly responses: {
            /** @description It is changed. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly job_history: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The job's id. */
                readonly job: components["schemas"]["JobId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Its events. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["History"];
                };
            };
        };
    };
    readonly delete_jobs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["DeleteFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Outcomes"];
                };
            };
        };
    };
    readonly list_keys: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The keys. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["KeyList"];
                };
            };
        };
    };
    readonly create_key: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewKeyFields"];
            };
        };
        readonly responses: {
            /** @description The key with its secret. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CreatedKeyView"];
                };
            };
        };
    };
    readonly revoke_key: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The key's id. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It no longer works. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly explain_key: {
        readonly parameters: {
            readonly query: {
                /** @description The resource, such as `votes`; all of them by default. */
                readonly resource?: string;
                /** @description The verb, such as `queue.put`. */
                readonly verb: "app.read" | "app.manage" | "audience.read" | "audience.write" | "audit.read" | "device.read" | "device.write" | "device.manage" | "keys.manage" | "node.read" | "node.operate" | "push.read" | "push.payload" | "push.send" | "queue.read" | "queue.payload" | "queue.put" | "queue.reserve" | "queue.control" | "queue.manage" | "retained.read" | "retained.manage" | "rules.read" | "rules.write" | "user.export" | "user.erase" | "wallet.read" | "wallet.transfer" | "wallet.manage";
            };
            readonly header?: never;
            readonly path: {
                /** @description The key's id. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The decision. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Explanation"];
                };
            };
        };
    };
    readonly rotate_key: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The key's id. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["RotateFields"];
            };
        };
        readonly responses: {
            /** @description The key with its secret. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CreatedKeyView"];
                };
            };
        };
    };
    readonly bury_lease: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description What was reserved. */
                readonly lease: components["schemas"]["LeaseId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["BuryFields"];
            };
        };
        readonly responses: {
            /** @description It is buried. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OneOutcome"];
                };
            };
        };
    };
    readonly extend_lease: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description What was reserved. */
                readonly lease: components["schemas"]["LeaseId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ExtendFields"];
            };
        };
        readonly responses: {
            /** @description The lease is longer. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OneOutcome"];
                };
            };
        };
    };
    readonly forward_lease: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description What was reserved. */
                readonly lease: components["schemas"]["LeaseId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ForwardFields"];
            };
        };
        readonly responses: {
            /** @description The job there. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PlacedJob"];
                };
            };
        };
    };
    readonly release_lease: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description What was reserved. */
                readonly lease: components["schemas"]["LeaseId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["ReleaseFields"];
            };
        };
        readonly responses: {
            /** @description It is to be tried again, or dead. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OneOutcome"];
                };
            };
        };
    };
    readonly settle_lease: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description What was reserved. */
                readonly lease: components["schemas"]["LeaseId"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is done, on disk. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OneOutcome"];
                };
            };
        };
    };
    readonly bury_leases: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["BuryManyFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Outcomes"];
                };
            };
        };
    };
    readonly extend_leases: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ExtendManyFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Outcomes"];
                };
            };
        };
    };
    readonly release_leases: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ReleaseManyFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Outcomes"];
                };
            };
        };
    };
    readonly settle_leases: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SettleFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Outcomes"];
                };
            };
        };
    };
    readonly live: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Events as text. The data of `history` is a list of `Point`, of `sample` a `Sample`, of `push` a `PushView`. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly live_queues: {
        readonly parameters: {
            readonly query?: {
                /** @description Queues on the page; 50 by default. */
                readonly limit?: number;
                /** @description Only this queue. */
                readonly queue?: string;
                /** @description Only queues whose name contains this. */
                readonly search?: string;
                /** @description Queues of the pages before. */
                readonly skip?: number;
                /** @description `name`, `jobs`, `due`, `reserved`, `dead`, `oldest`, `put` or `settled`; the most first, `due` by default. */
                readonly sort?: "due" | "name" | "jobs" | "reserved" | "dead" | "oldest" | "put" | "settled";
                /** @description Only queues with jobs that are `delayed`, `due`, `reserved`, `buried` or `dead`. */
                readonly state?: "delayed" | "due" | "reserved" | "buried" | "dead";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What they do. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LiveQueues"];
                };
            };
        };
    };
    readonly live_wallets: {
        readonly parameters: {
            readonly query?: {
                /** @description Only movers of this asset. */
                readonly asset?: components["schemas"]["AssetCode"];
                /** @description Movers; 10 by default. */
                readonly limit?: number;
                /** @description `transfers` or `amount`; the most first, `transfers` by default. */
                readonly sort?: "transfers" | "amount";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What they hold and do. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LiveWallets"];
                };
            };
        };
    };
    readonly own_push_clicked: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OwnClickedFields"];
            };
        };
        readonly responses: {
            /** @description It is noted. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly show_own_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The device. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OwnDeviceReport"];
                };
            };
        };
    };
    readonly change_own_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OwnDeviceFields"];
            };
        };
        readonly responses: {
            /** @description It is changed. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly show_own_inbox: {
        readonly parameters: {
            readonly query?: {
                /** @description Only pushes behind this one: `next` of the page before. */
                readonly after?: string;
                /** @description Of a page; 20 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The inbox. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OwnInbox"];
                };
            };
        };
    };
    readonly settle_own_inbox: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OwnSettledFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OwnSettled"];
                };
            };
        };
    };
    readonly own_push_opened: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OwnOpenedFields"];
            };
        };
        readonly responses: {
            /** @description It is noted. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly node: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The node that answers. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NodeView"];
                };
            };
        };
    };
    readonly publish: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PublishRequest"];
            };
        };
        readonly responses: {
            /** @description Published. */
            readonly 200: {
                headers: {
                    /** @description `true` when this is the answer to an earlier request. */
                    readonly "Idempotent-Replayed"?: string | null;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PublishedMessage"];
                };
            };
        };
    };
    readonly publish_batch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PublishBatchRequest"];
            };
        };
        readonly responses: {
            /** @description Each message has a result. */
            readonly 200: {
                headers: {
                    /** @description `true` when this is the answer to an earlier request. */
                    readonly "Idempotent-Replayed"?: string | null;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PublishedBatch"];
                };
            };
        };
    };
    readonly publish_raw: {
        readonly parameters: {
            readonly query: {
                /** @description Seconds after which nobody is sent it any more. */
                readonly expiry_s?: number;
                /** @description 0, or 1 by default. */
                readonly qos?: number;
                /** @description `true`: it becomes the topic's retained message. */
                readonly retain?: "true" | "false";
                /**
                 * @description Where to.
                 * @example chat/lobby
                 */
                readonly topic: string;
            };
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        /** @description The payload. */
        readonly requestBody: {
            readonly content: {
                readonly "application/octet-stream": string;
            };
        };
        readonly responses: {
            /** @description Published. */
            readonly 200: {
                headers: {
                    /** @description `true` when this is the answer to an earlier request. */
                    readonly "Idempotent-Replayed"?: string | null;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PublishedMessage"];
                };
            };
        };
    };
    readonly push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PushRequest"];
            };
        };
        readonly responses: {
            /** @description Accepted. */
            readonly 202: {
                headers: {
                    /** @description `true` when this is the answer to an earlier request. */
                    readonly "Idempotent-Replayed"?: string | null;
                    /** @description Where to see how far it has come. */
                    readonly Location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AcceptedPush"];
                };
            };
        };
    };
    readonly list_pushes: {
        readonly parameters: {
            readonly query?: {
                /** @description How many; 50 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The newest first. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PushList"];
                };
            };
        };
    };
    readonly find_push: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The push's id. */
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What is known of it. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PushView"];
                };
            };
        };
    };
    readonly list_queues: {
        readonly parameters: {
            readonly query?: {
                /** @description Only names after this one: `next` of the page before. */
                readonly after?: components["schemas"]["QueueName"];
                /** @description Queues on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only queues whose name contains this. */
                readonly search?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of queues. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueuePage"];
                };
            };
        };
    };
    readonly find_queue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The queue. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueueReport"];
                };
            };
        };
    };
    readonly declare_queue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Letters, digits, `-`, `_` and `.`; at most 128 bytes. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["SettingsFields"];
            };
        };
        readonly responses: {
            /** @description The queue. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueueReport"];
                };
            };
        };
    };
    readonly drop_queue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is gone. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly peek_jobs: {
        readonly parameters: {
            readonly query?: {
                /** @description Only jobs after this one: `next` of the page before. */
                readonly after?: components["schemas"]["JobId"];
                /** @description Only jobs with this key. */
                readonly key?: string;
                /** @description Jobs on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only so many bytes of each payload; all of them by default. */
                readonly payload_bytes_max?: number;
                /** @description Only `delayed`, `due`, `reserved`, `buried` or `dead` jobs. */
                readonly state?: "delayed" | "due" | "reserved" | "buried" | "dead";
            };
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of jobs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["JobPage"];
                };
            };
        };
    };
    readonly put_jobs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                /** @description Letters, digits, `-`, `_` and `.`; at most 128 bytes. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PutFields"];
            };
        };
        readonly responses: {
            /** @description Each of them was known already; nothing was put. */
            readonly 200: {
                headers: {
                    /** @description `true` */
                    readonly "Idempotent-Replayed"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Placement"];
                };
            };
            /** @description The jobs are on disk. */
            readonly 201: {
                headers: {
                    /** @description The job, where there is one. */
                    readonly Location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Placement"];
                };
            };
        };
    };
    readonly kick_jobs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["JobSetFields"];
            };
        };
        readonly responses: {
            /** @description How many jobs are due again. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Counted"];
                };
            };
        };
    };
    readonly pause_queue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is paused. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly purge_queue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["PurgeFields"];
            };
        };
        readonly responses: {
            /** @description How many jobs it takes out. Some 2,000 are gone with the answer, the others follow in the background: figures and peeks show what is left, none of those that were due is handed out. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Counted"];
                };
            };
        };
    };
    readonly redrive_jobs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["RedriveFields"];
            };
        };
        readonly responses: {
            /** @description How many jobs are due again. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Counted"];
                };
            };
        };
    };
    readonly reserve_jobs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["ReserveFields"];
            };
        };
        readonly responses: {
            /** @description The jobs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReservedJobs"];
                };
            };
        };
    };
    readonly resume_queue: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It hands out. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_schedules: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Its schedules. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Schedules"];
                };
            };
        };
    };
    readonly set_schedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description What the schedule is called; one name is one schedule of a queue. */
                readonly name: string;
                /** @description The queue that the jobs are put into. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ScheduleFields"];
            };
        };
        readonly responses: {
            /** @description It is on disk. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly end_schedule: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The schedule. */
                readonly name: string;
                /** @description The queue. */
                readonly queue: components["schemas"]["QueueName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It puts nothing any more. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly list_retained_messages: {
        readonly parameters: {
            readonly query?: {
                /** @description Only topics that match this topic filter. `#` matches no topic that begins with `$`. */
                readonly filter?: string;
                /** @description Only this topic and those behind it: `next` of the page before. */
                readonly from?: string;
                /** @description Messages on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only messages that devices of this principal set; empty for anonymous devices. */
                readonly principal?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of retained messages. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RetainedList"];
                };
            };
        };
    };
    readonly purge_retained_messages: {
        readonly parameters: {
            readonly query?: {
                /** @description `true`: count them, remove nothing. */
                readonly dry_run?: boolean;
                /** @description Only topics that match this topic filter. One of `filter` and `principal` is needed; where both are given, both hold. */
                readonly filter?: string;
                /** @description Only this topic and those behind it: `next` of the answer before. */
                readonly from?: string;
                /** @description Messages removed at most; 1000 by default. */
                readonly limit?: number;
                /** @description Only messages that devices of this principal set; empty for anonymous devices. */
                readonly principal?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description How many are removed, and whether there may be more. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PurgedRetained"];
                };
            };
        };
    };
    readonly rules: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The rules. */
            readonly 200: {
                headers: {
                    /** @description Names this state of the rules, for `If-Match`. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RulesView"];
                };
            };
        };
    };
    readonly set_rules: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description The `ETag` of the rules that these replace; without it, whatever rules are in force. */
                readonly "If-Match"?: string | null;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RulesFields"];
            };
        };
        readonly responses: {
            /** @description They are in force. */
            readonly 200: {
                headers: {
                    /** @description Names the new rules. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RulesView"];
                };
            };
        };
    };
    readonly services: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The services. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ServicesView"];
                };
            };
        };
    };
    readonly together: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TogetherFields"];
            };
        };
        readonly responses: {
            /** @description It had been done before. */
            readonly 200: {
                headers: {
                    /** @description `true` */
                    readonly "Idempotent-Replayed"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TogetherReport"];
                };
            };
            /** @description All of it is on disk. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TogetherReport"];
                };
            };
        };
    };
    readonly stream_topics: {
        readonly parameters: {
            readonly query?: {
                /** @description As the header `Last-Event-ID`, which counts before it. */
                readonly last_event_id?: string;
                /** @description `false`: do not begin with the retained messages. */
                readonly retained?: boolean;
                /** @description A ticket, in place of an API key. */
                readonly ticket?: string;
                /**
                 * @description A topic filter; may be given several times. With a ticket: those of the ticket by default.
                 * @example [
                 *       "chat/+"
                 *     ]
                 */
                readonly topic?: readonly string[];
            };
            readonly header?: {
                /** @description The id of the last event of an earlier stream. */
                readonly "Last-Event-ID"?: string | null;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Events as text. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly issue_topic_ticket: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TicketFields"];
            };
        };
        readonly responses: {
            /** @description The ticket. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TicketReport"];
                };
            };
        };
    };
    readonly trace: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description The device's id. Either this or `topic`.
                 * @example seat-0042
                 */
                readonly device?: string;
                /** @description A topic filter. Either this or `device`. */
                readonly topic?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Events as text; the data of `packet` is a `TraceEvent`. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly transfer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request, best a UUID. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TransferFields"];
            };
        };
        readonly responses: {
            /** @description It had been booked before. */
            readonly 200: {
                headers: {
                    /** @description `true` */
                    readonly "Idempotent-Replayed"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
            /** @description It is booked, on disk. */
            readonly 201: {
                headers: {
                    /** @description The transfer. */
                    readonly Location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
        };
    };
    readonly find_transfer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The transfer's id. */
                readonly id: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The transfer. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TransferReport"];
                };
            };
        };
    };
    readonly capture_hold: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Names this request, best a UUID. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                /** @description The hold's id. */
                readonly id: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["StepFields"];
            };
        };
        readonly responses: {
            /** @description It had been booked before. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
            /** @description It is booked, on disk. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
        };
    };
    readonly reverse_transfer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Names this request, best a UUID. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                /** @description The transfer's id. */
                readonly id: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["StepFields"];
            };
        };
        readonly responses: {
            /** @description It had been booked before. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
            /** @description It is booked, on disk. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
        };
    };
    readonly void_hold: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Names this request, best a UUID. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                /** @description The hold's id. */
                readonly id: components["schemas"]["Id128"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["StepFields"];
            };
        };
        readonly responses: {
            /** @description It had been booked before. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
            /** @description It is booked, on disk. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfer"];
                };
            };
        };
    };
    readonly transfer_batch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description 1 to 128 visible ASCII characters that name this request. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["BatchFields"];
            };
        };
        readonly responses: {
            /** @description What became of each. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BookedTransfers"];
                };
            };
        };
    };
    readonly erase_user: {
        readonly parameters: {
            readonly query?: {
                /** @description `refuse` by default; `keep`: accounts that are not empty stay open. */
                readonly balances?: "refuse" | "keep";
                /** @description `true`: count what would be removed, remove nothing. */
                readonly dry_run?: boolean;
            };
            readonly header?: {
                /** @description Makes the request safe to repeat, also after the erasure has finished. */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                /**
                 * @description The `named_user` of devices, percent-encoded.
                 * @example ada
                 */
                readonly user: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description With `dry_run`: what would be done. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ErasurePlan"];
                };
            };
            /** @description It is under way. With a known `Idempotency-Key`: the erasure, which may have finished. */
            readonly 202: {
                headers: {
                    /** @description Where its progress and its receipt are. */
                    readonly Location?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Erasure"];
                };
            };
        };
    };
    readonly export_user: {
        readonly parameters: {
            readonly query?: {
                /** @description Nodes of a cluster that do not answer: `refuse` by default; `skip`: `nodes_not_searched` names them. */
                readonly away?: "refuse" | "skip";
            };
            readonly header?: never;
            readonly path: {
                /**
                 * @description The `named_user` of devices, percent-encoded.
                 * @example ada
                 */
                readonly user: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The document. */
            readonly 200: {
                headers: {
                    /** @description `attachment` with a file name. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": Record<string, never>;
                };
            };
        };
    };
    readonly list_accounts: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description Only accounts after this one: `next` of the page before.
                 * @example alice/EUR
                 */
                readonly after?: string;
                /** @description Only accounts of this asset. */
                readonly asset?: components["schemas"]["AssetCode"];
                /** @description Accounts on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only wallets whose names begin with this. */
                readonly prefix?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of accounts. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AccountPage"];
                };
            };
        };
    };
    readonly open_accounts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OpenFields"];
            };
        };
        readonly responses: {
            /** @description The account was there, with the same rules: an `AccountReport`. Or what became of each of several. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Opened"];
                };
            };
            /** @description The account was opened. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AccountReport"];
                };
            };
        };
    };
    readonly find_wallet: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /**
                 * @description The wallet.
                 * @example alice
                 */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The wallet. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WalletReport"];
                };
            };
        };
    };
    readonly find_account: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The asset. */
                readonly asset: components["schemas"]["AssetCode"];
                /** @description The wallet. */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The account. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AccountReport"];
                };
            };
        };
    };
    readonly change_account: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The asset. */
                readonly asset: components["schemas"]["AssetCode"];
                /** @description The wallet. */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeFields"];
            };
        };
        readonly responses: {
            /** @description The account. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AccountReport"];
                };
            };
        };
    };
    readonly account_balance: {
        readonly parameters: {
            readonly query?: {
                /** @description The time (RFC 3339), its own transfers included; now by default. */
                readonly at?: components["schemas"]["Moment"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The asset. */
                readonly asset: components["schemas"]["AssetCode"];
                /** @description The wallet. */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The balance. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BalanceReport"];
                };
            };
        };
    };
    readonly account_history: {
        readonly parameters: {
            readonly query?: {
                /** @description Only entries before this one: `next` of the page before. */
                readonly before?: number;
                /** @description Only `credit` (came in) or `debit` (went out). */
                readonly direction?: "credit" | "debit";
                /** @description Booked at this time (RFC 3339) or after. */
                readonly from?: components["schemas"]["Moment"];
                /** @description Entries on the page; 100 by default. */
                readonly limit?: number;
                /** @description Only with this other wallet. */
                readonly other?: components["schemas"]["WalletName"];
                /** @description Only with this reference. */
                readonly reference?: string;
                /** @description Booked before this time (RFC 3339). */
                readonly to?: components["schemas"]["Moment"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The asset. */
                readonly asset: components["schemas"]["AssetCode"];
                /** @description The wallet. */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of entries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["EntryPageReport"];
                };
            };
        };
    };
    readonly account_statement: {
        readonly parameters: {
            readonly query?: {
                /** @description Only `credit` (came in) or `debit` (went out). */
                readonly direction?: "credit" | "debit";
                /** @description `csv` or `json`; `csv` by default. */
                readonly format?: "csv" | "json";
                /** @description Booked at this time (RFC 3339) or after. */
                readonly from?: components["schemas"]["Moment"];
                /** @description Only with this other wallet. */
                readonly other?: components["schemas"]["WalletName"];
                /** @description Only with this reference. */
                readonly reference?: string;
                /** @description Booked before this time (RFC 3339). */
                readonly to?: components["schemas"]["Moment"];
            };
            readonly header?: never;
            readonly path: {
                /** @description The asset. */
                readonly asset: components["schemas"]["AssetCode"];
                /** @description The wallet. */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The statement. */
            readonly 200: {
                headers: {
                    /** @description `attachment` with a file name. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["EntryPageReport"];
                    readonly "text/csv": string;
                };
            };
        };
    };
    readonly list_holds: {
        readonly parameters: {
            readonly query?: {
                /** @description Holds at most; 100 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path: {
                /** @description The wallet. */
                readonly wallet: components["schemas"]["WalletName"];
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The holds. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Holds"];
                };
            };
        };
    };
    readonly list_roots: {
        readonly parameters: {
            readonly query?: {
                /** @description Only seals with a higher number. */
                readonly after?: number;
                /** @description Of each shard; 100 by default. */
                readonly limit?: number;
                /** @description Only of this shard. */
                readonly shard?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The roots. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Roots"];
                };
            };
        };
    };
    readonly health: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The process answers. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    readonly metrics: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The metrics. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/openmetrics-text": string;
                    readonly "text/plain": string;
                };
            };
        };
    };
    readonly readiness: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Send work here. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    readonly discover_webpush: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Of the endpoint. */
                readonly token: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description `{"unifiedpush": {"version": 1}}` */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": unknown;
                };
            };
        };
    };
    readonly send_webpush: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                /** @description `vapid t=..., k=...` (RFC 8292). */
                readonly Authorization?: string | null;
                /** @description `aes128gcm` or `aesgcm`. */
                readonly "Content-Encoding"?: "aes128gcm" | "aesgcm";
                /** @description `respond-async`: the answer names a receipt. */
                readonly Prefer?: string | null;
                /** @description A message replaces one of the same topic that is not delivered yet; at most 32 characters of base64url. */
                readonly Topic?: string;
                /**
                 * @description Seconds for which the message is worth keeping; 0: for a device that is connected now.
                 * @example 86400
                 */
                readonly TTL: number;
                /** @description `very-low`, `low`, `normal` or `high`. Only `high` ignores quiet hours. */
                readonly Urgency?: "very-low" | "low" | "normal" | "high";
            };
            readonly path: {
                /** @description Of the endpoint. */
                readonly token: string;
            };
            readonly cookie?: never;
        };
        /** @description At most 4,096 bytes, encrypted for the device (RFC 8291). */
        readonly requestBody: {
            readonly content: {
                readonly "application/octet-stream": readonly number[];
            };
        };
        readonly responses: {
            /** @description Accepted; `Location` is the message. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Accepted; `Link` is the receipt (`urn:ietf:params:push:receipt`). */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly webpush_receipt: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description `wait=10` */
                readonly Prefer?: string | null;
            };
            readonly path: {
                /** @description Of the message. */
                readonly token: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It may still be delivered. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The device has acknowledged it. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly cancel_webpush: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Of the message. */
                readonly token: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is not delivered any more. */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
