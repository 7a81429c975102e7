SELECT set_config('cardwire.project', $1, true)
