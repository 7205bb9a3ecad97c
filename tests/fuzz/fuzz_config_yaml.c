/* fuzz_config_yaml.c - any bytes as a configuration file: refused or loaded, never a crash, and on
 * refusal nothing changes. */
#include "job/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config *c = config_new();
    struct err err = {0};
    enum rc rc = config_load_yaml(c, bytes_of(data, size), "fuzz.yaml", &err);

    if (rc != RC_OK)
        ASSERT(err.rc == rc && err.msg[0] != '\0');
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        ASSERT(rc == RC_OK || config_source(c, (enum option_id)i) == CONFIG_DEFAULT);
    if (config_check(c, NULL) == RC_OK) {
        struct coordinator_config k;
        struct restart_config r;

        config_coordinator(c, &k);
        config_restart(c, &r);
    }
    config_free(c);
    return 0;
}
