{# SQL scripts: one statement for dbt, in which an engine error can be caught. #}

{# P0001: raise_error of our own checks. 44000: rows outside of REPLACE WHERE. 2D521: Delta's conflicts between commits.
   58030: a task failed while it wrote, which is how an error of our checks comes back from a statement that only `inserts`. With
   `constrained`, for a step that can say which rows break a constraint: 22001: a text that is too long. 23001, 23502: CHECK and
   NOT NULL. #}
{% macro guarded_sql(sql, inserts=false, constrained=false) %}
{% set states = ['P0001', '44000'] + (['22001', '23001', '23502'] if constrained else []) + (['58030'] if inserts or constrained else []) %}
begin
    declare exit handler for sqlstate '{{ states | join("', sqlstate '") }}' begin select 'refused' as ditto_verdict; end;
    declare exit handler for sqlstate '2D521' begin select 'conflict' as ditto_verdict; end;
    {{ sql }}
    ;
end
{%- endmacro %}


{# What collides with another commit is tried again, here and not in dbt, so that its turn comes soon. #}
{% macro patient_sql(sql, tries=200) %}
begin
    declare attempt int default 0;
    declare landed boolean default false;
    while not landed and attempt < {{ tries }} do
        begin
            declare exit handler for sqlstate '2D521' begin end;
            {{ sql }}
            ;
            set landed = true;
        end;
        set attempt = attempt + 1;
    end while;
    if not landed then
        select 'conflict' as ditto_verdict;
    end if;
end
{%- endmacro %}


{# Any failure comes back as a word. #}
{% macro attempt_sql(sql) %}
begin
    declare exit handler for sqlexception begin select 'failed' as ditto_verdict; end;
    {{ ditto.immediate_sql(sql) }}
    ;
end
{%- endmacro %}


{# An engine error, or one of a kind, comes back as a word. #}
{% macro caught_sql(sql, word, state=none) %}
begin
    declare exit handler for {{ "sqlstate '" ~ state ~ "'" if state else 'sqlexception' }} begin select '{{ word }}' as ditto_verdict; end;
    {{ sql }}
    ;
end
{%- endmacro %}


{# A statement that can hold no fence of its own, or for which no rows would still mean a change: the fence stands around it.
   Inside of another script, or as one (`script`). #}
{% macro fenced_sql(sql, fence, script=false) %}
{%- if not fence -%}
{{ sql }}
{%- else -%}
{{ 'begin\n' if script -}}
if {{ fence }} then
    {{ sql }}
    ;
end if
{{- ';\nend' if script }}
{%- endif -%}
{%- endmacro %}


{# Delta's own parser is not asked about the statements inside of a script: CLUSTER BY would silently make partitions, and
   RESTORE is not known. So such a statement goes into a script as text. #}
{% macro immediate_sql(sql) %}
    {{ return('execute immediate ' ~ ditto.literal(sql.strip())) }}
{% endmacro %}


{# `create table if not exists` fails when several sessions create at once: the log is there, its entry in the catalog
   not yet (42601), or another one committed first (2D521). So try for a while; the last try is the bare one, whose error is the
   engine's own. What is wrong with the statement itself does not get better: it is tried no more; an unknown error a few times, since
   the catalog has errors without a state. #}
{% macro create_if_missing_sql(create_sql, tries=300, unknown_tries=20) %}
{% set create = ditto.immediate_sql(create_sql) %}
{# Names, columns, types and properties that cannot be. #}
{% set hopeless = ['0A000', '22023', '42000', '42602', '42611', '42621', '42703', '42711', '42K02', '42K05', '42K09', '46121'] %}
begin
    declare attempt int default 0;
    declare unknown int default 0;
    declare created boolean default false;
    while not created and attempt < {{ tries }} and unknown < {{ unknown_tries }} do
        begin
            declare exit handler for sqlexception begin set unknown = unknown + 1; end;
            declare exit handler for sqlstate '2D521', sqlstate '42601', sqlstate '42P07', sqlstate '42704' begin end;
            declare exit handler for sqlstate '{{ hopeless | join("', sqlstate '") }}' begin set unknown = {{ unknown_tries }}; end;
            {{ create }}
            ;
            set created = true;
        end;
        set attempt = attempt + 1;
    end while;
    if not created then
        {{ create }}
        ;
    end if;
end
{%- endmacro %}


{# Somebody else may hold the version that we ask for: then nothing is written, and reading back tells who. #}
{% macro compare_and_set_sql(insert_sql) %}
begin
    declare exit handler for sqlstate '2D521' begin end;
    {{ insert_sql }}
    ;
end
{%- endmacro %}
